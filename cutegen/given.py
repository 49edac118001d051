"""Arguments as callers give them: a config as object, file or dictionary, a cache as object or path."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cutegen.cache import Cache, open_cache
from cutegen.config import GemmConfig
from cutegen.errors import ConfigError
from cutegen.loader import dump, load, validate
from cutegen.toolchain import Toolchain
from cutegen.yamlread import Document
from cutegen.yamlwrite import clip

__all__ = ["CacheLike", "ConfigLike", "Evidence", "cache_of", "check_options", "config_of", "configs_of"]

ConfigLike = GemmConfig | Mapping[str, Any] | str | Path
CacheLike = Cache | str | Path


class Evidence(Mapping[str, str]):
    """The resolved config as a file, written out only when a kernel is really built."""

    def __init__(self, config: GemmConfig) -> None:
        self._files = {"config.yaml": config}

    def __getitem__(self, name: str) -> str:
        return dump(self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def config_of(config: ConfigLike) -> GemmConfig:
    """The config that is meant.

    Raises:
        ConfigError: It is none, or breaks a rule that concerns one field alone.
    """
    if isinstance(config, GemmConfig):
        return config
    if isinstance(config, Mapping):
        return validate(Document(name="<dict>", data=_plain(config))).config
    if not isinstance(config, (str, os.PathLike)):
        raise _refused(
            "config", "a GemmConfig, the path of a YAML file, or a dictionary of its fields", config
        )
    return load(config)


def configs_of(configs: Iterable[ConfigLike]) -> list[ConfigLike]:
    """The configs of a list, a tuple or any other iterable, each as it was given.

    Raises:
        ConfigError: It is one config, or nothing that can be iterated over.
    """
    if isinstance(configs, (str, bytes, os.PathLike, Mapping, GemmConfig)):
        raise _refused("configs", "a list of configs; for one, write [config] or use cutegen.build", configs)
    try:
        return list(configs)
    except TypeError:
        raise _refused("configs", "a list of configs", configs) from None


def cache_of(cache: CacheLike | None) -> Cache | None:
    """The cache that is meant; None stays None.

    Raises:
        ConfigError: It is none and no path of one.
    """
    if cache is None or isinstance(cache, Cache):
        return cache
    if not isinstance(cache, (str, os.PathLike)) or not os.fspath(cache):
        raise _refused("cache", "a directory, or what cutegen.cache.open_cache returns", cache)
    return open_cache(Path(cache))


def check_options(*, toolchain: object = None, jobs: object = None, sanitize: object = True) -> None:
    """Refuse options of a build that are of the wrong kind.

    Raises:
        ConfigError: Naming the option, what it must be, and what was given.
    """
    if toolchain is not None and not isinstance(toolchain, Toolchain):
        fix = "what cutegen.toolchain.find_toolchain returns; CUTEGEN_NVCC names another nvcc"
        raise _refused("toolchain", fix, toolchain)
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise _refused("jobs", "a whole number >= 1, or None", jobs)
    if sanitize not in (True, False, "report"):
        raise _refused("sanitize", "True, False or 'report'", sanitize)


def _refused(name: str, need: str, got: object) -> ConfigError:
    return ConfigError(f"{name}: must be {need} (got {clip(repr(got))})")


def _plain(value: Any) -> Any:
    """Mappings as dictionaries and sequences as tuples, as the YAML reader gives them."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value
