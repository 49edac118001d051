"""Rewrite CUDA C++ text so that a host compiler takes it: inline PTX becomes calls of the emulator's runtime."""

from cutegen.emulator.rewrite.source import RewrittenSource, rewrite_source
from cutegen.emulator.rewrite.tree import rewrite_tree

__all__ = ["RewrittenSource", "rewrite_source", "rewrite_tree"]
