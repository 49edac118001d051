"""Cases of several files: matrix files, and plain configs, each of which is one case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cutegen.errors import ConfigError
from cutegen.loader import read_text, validate
from cutegen.matrix.expand import Case, Matrix, expand
from cutegen.yamlread import parse

__all__ = ["load_files"]


def load_files(paths: Sequence[str | Path]) -> Matrix:
    """All cases of some files.

    The ids of several files begin with the file's name, as in ``kernels:stages=3``; the case of a plain
    config has no other id.

    Raises:
        ConfigError: A file does not fit; of several such files all mistakes are told at once.
    """
    matrices, faults = [], []
    for path in dict.fromkeys(map(str, paths)):
        try:
            matrices.append(_load(path))
        except ConfigError as error:
            faults.append(error)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise ConfigError(
            "\n".join(fault.message for fault in faults), [v for fault in faults for v in fault.violations]
        )
    if len(matrices) == 1:
        return matrices[0]
    cases: list[Case] = []
    for matrix, label in zip(matrices, _labels([m.name for m in matrices]), strict=True):
        for case in matrix.cases:
            name = label if not case.values else f"{label}:{case.id}"
            cases.append(replace(case, id=name, illegal=matrix.illegal))
    notes = tuple(f"{matrix.name}: {note}" for matrix in matrices for note in matrix.notes)
    return Matrix(name=" ".join(m.name for m in matrices), cases=tuple(cases), illegal="fail", notes=notes)


def _load(path: str) -> Matrix:
    document = parse(read_text(path), path)
    if not isinstance(document.data, dict) or "matrix" in document.data:
        return expand(document)
    case = Case(id=Path(path).stem, values={}, loaded=validate(document))
    return Matrix(name=path, cases=(case,), illegal="fail", notes=())


def _labels(names: Sequence[str]) -> list[str]:
    """The files' names without directory and ending, if that tells them apart."""
    stems = [Path(name).stem for name in names]
    return stems if len(set(stems)) == len(stems) else list(names)
