"""The kernel cache: content-addressed, self-healing, safe among racing processes.

Nothing outside an entry's content decides its key; nothing but an atomic rename makes it visible.
:mod:`cutegen.cache.archive` moves entries between machines.
"""

from cutegen.cache.cache import Cache, CacheWarning, open_cache
from cutegen.cache.entry import Entry, make_key
from cutegen.cache.maintain import CacheInfo, EntryInfo, Pruned, clear, info, ls, prune
from cutegen.cache.store import Store

__all__ = [
    "Cache",
    "CacheInfo",
    "CacheWarning",
    "Entry",
    "EntryInfo",
    "Pruned",
    "Store",
    "clear",
    "info",
    "ls",
    "make_key",
    "open_cache",
    "prune",
]
