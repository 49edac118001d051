"""Random configs against the rules: what they accept must work, and what they refuse must not."""

from __future__ import annotations

from cutegen.fuzz.case import Case, Choices, Failure, make_case, repro
from cutegen.fuzz.generate import legal_config, odd_config, sparse_config
from cutegen.fuzz.minimise import minimise
from cutegen.fuzz.probe import NOT_FORCED, Prober, Tools
from cutegen.fuzz.run import Summary, fuzz

__all__ = [
    "NOT_FORCED",
    "Case",
    "Choices",
    "Failure",
    "Prober",
    "Summary",
    "Tools",
    "fuzz",
    "legal_config",
    "make_case",
    "minimise",
    "odd_config",
    "repro",
    "sparse_config",
]
