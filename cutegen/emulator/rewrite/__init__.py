"""Rewrite CUDA C++ text for a host compiler: inline PTX becomes calls of the emulator's runtime."""

from cutegen.emulator.rewrite.source import RewrittenSource, rewrite_source
from cutegen.emulator.rewrite.tree import rewrite_tree

__all__ = ["RewrittenSource", "rewrite_source", "rewrite_tree"]
