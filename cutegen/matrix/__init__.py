"""Many configs from one file: expansion, building, reports."""

from __future__ import annotations

from cutegen.matrix.expand import Case, Matrix, expand, load_matrix, select, shard
from cutegen.matrix.files import load_files

__all__ = ["Case", "Matrix", "expand", "load_files", "load_matrix", "select", "shard"]
