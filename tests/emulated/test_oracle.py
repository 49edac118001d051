"""Every layout of the resolved style equals CuTe's own, evaluated by a host program of CuTe's headers.

``CUTEGEN_ORACLE_CONFIGS=300 pytest -n 2 tests/emulated/test_oracle.py`` compares so many random configs,
from seed ``CUTEGEN_ORACLE_SEED`` on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import cutegen
from cutegen.atoms import COPY_G2S, COPY_S2R, MMA_ATOMS, CopyAtomS2R
from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.fuzz.generate import PARTITIONED, legal_config, odd_config
from cutegen.layout.algebra import Layout
from cutegen.plan import OperandPlan
from cutegen.render import environment
from tests.support.oracle import Arrays, differences, evaluate, run_program
from tests.support.oracle_configs import HANDMADE
from tests.support.sampling import sampled

ROOT = Path(__file__).parents[2]
COUNT = int(os.environ.get("CUTEGEN_ORACLE_CONFIGS", "8"))
SEED = int(os.environ.get("CUTEGEN_ORACLE_SEED", "0"))

#: Examples that stand for the others in CI: each mainloop and type, and MN-major operands.
IN_CI = ["ampere_bf16", "gemm_device", "simple", "vllm_int8"]
IN_CI += ["sm80_bf16_nt", "sm75_s8", "sm80_f64", "sm89_e4m3"]
OTHERS = [path.stem for path in sorted((ROOT / "examples").glob("*.yaml")) if "matrix" not in path.stem]
EXAMPLES = [*IN_CI, *(name for name in OTHERS if name not in IN_CI)]
KEYS = [
    *(f"example:{name}" for name in EXAMPLES),
    *(f"handmade:{name}" for name in HANDMADE),
    *(f"seed:{seed}" for seed in range(SEED, SEED + COUNT)),
]

#: Configs of one program: the headers are read once, and the compiler's memory stays below 2 GB.
BATCHES = [KEYS[i : i + 4] for i in range(0, len(KEYS), 4)]


def _in_ci(keys: list[str]) -> bool:
    """Some examples, and every fifth of the other batches, unless more random configs were asked for."""
    names = {f"seed:{SEED}", *(f"example:{name}" for name in IN_CI)}
    if COUNT != 8 or names & set(keys):
        return True
    return not keys[0].startswith("example:") and BATCHES.index(keys) % 5 == 1


def _config(key: str) -> GemmConfig:
    kind, _, name = key.partition(":")
    if kind == "example":
        return cutegen.load(ROOT / f"examples/{name}.yaml")
    if kind == "handmade":
        return GemmConfig.model_validate(HANDMADE[name])
    rng = Random(int(name))
    if int(name) % 3 == 0:
        return legal_config(rng, mainloops=PARTITIONED)
    while True:
        config = odd_config(rng, mainloops=PARTITIONED)
        if not cutegen.check(config):
            return config


@pytest.mark.parametrize("keys", sampled(BATCHES, _in_ci, ",".join))
def test_every_layout_is_cutes(keys: list[str], tmp_path: Path) -> None:
    plans = {key: cutegen.plan(_config(key)) for key in keys}
    cute = evaluate(list(plans.values()), tmp_path)
    found = {key: differences(plan, cute[plan.name]) for key, plan in plans.items()}
    assert found == {key: [] for key in keys}


def _reversed_strides(layout: Layout) -> Layout:
    assert isinstance(layout.stride, tuple), f"{layout} has one mode"
    return replace(layout, stride=layout.stride[::-1])


def _write_view(operand: OperandPlan, **change: object) -> OperandPlan:
    assert operand.copy.view is not None
    view = replace(operand.copy.view, **change)  # type: ignore[arg-type]
    return replace(operand, copy=replace(operand.copy, view=view))


def _read_view(operand: OperandPlan, **change: object) -> OperandPlan:
    assert operand.read is not None
    view = replace(operand.read.view, **change)  # type: ignore[arg-type]
    return replace(operand, read=replace(operand.read, view=view))


def _read(operand: OperandPlan, **change: object) -> OperandPlan:
    assert operand.read is not None
    return replace(operand, read=replace(operand.read, **change))  # type: ignore[arg-type]


Mutation = Callable[[OperandPlan], OperandPlan]

MUTANTS: dict[str, tuple[str, Mutation, str]] = {
    "source coordinates swapped": (
        "example:multistage",
        lambda a: replace(a, copy=replace(a.copy, thread_mn=a.copy.thread_k, thread_k=a.copy.thread_mn)),
        "G2S source",
    ),
    "write step twice as long": (
        "example:multistage",
        lambda a: _write_view(a, step=Layout(4, 2048)),
        "G2S destination",
    ),
    "write not swizzled": (
        "example:multistage",
        lambda a: _write_view(a, thread=Layout(128, 16)),
        "G2S dest",
    ),
    "read strides swapped": (
        "example:multistage",
        lambda a: _read_view(a, thread=_reversed_strides(a.read.view.thread)),  # type: ignore[union-attr]
        "S2R source",
    ),
    "k-blocks before rows": (
        "example:multistage",
        lambda a: _read_view(a, step=_reversed_strides(a.read.view.step)),  # type: ignore[union-attr]
        "S2R source",
    ),
    "xor of no bits": ("example:multistage", lambda a: _read_view(a, mask=0), "S2R source"),
    "xor of too many bits": ("example:multistage", lambda a: _read_view(a, mask=4095), "S2R source"),
    "linear where it is not": (
        "handmade:swizzle_longer_than_the_atom",
        lambda a: _read_view(a, linear=True, mask=0),
        "S2R source",
    ),
    "ldmatrix transposed": (
        "example:multistage",
        lambda a: _read(a, op="SM75_U16x8_LDSM_T"),
        "loaded elements",
    ),
    "fragments atom by atom along K": (
        "example:multistage",
        lambda a: replace(a, fragments=replace(a.fragments, layout=Layout((8, 4, 1), (4, 1, 0)))),
        "fragment",
    ),
    "direct load off by a row": (
        "example:simple",
        lambda a: replace(a, copy=replace(a.copy, step_mn=_reversed_strides(a.copy.step_mn))),
        "loaded coordinates",
    ),
}


def test_a_broken_plan_is_seen(tmp_path: Path) -> None:
    plans = {key: cutegen.plan(_config(key)) for key, _, _ in MUTANTS.values()}
    cute = evaluate(list(plans.values()), tmp_path)
    for name, (key, mutate, symptom) in MUTANTS.items():
        plan = plans[key]
        found = differences(replace(plan, a=mutate(plan.a)), cute[plan.name])
        assert any(symptom in text for text in found), (name, found)
        assert all(text.startswith(f"{plan.name}: a: ") for text in found), (name, found)
    plan = plans["example:multistage"]
    output = replace(plan.output, register_m=_reversed_strides(plan.output.register_m))
    assert len(differences(replace(plan, output=output), cute[plan.name])) == 1


LDMATRIX = [copy for copy in COPY_S2R.values() if copy.kind == "ldmatrix"]


def _atoms(directory: Path) -> Arrays:
    """CuTe's traits of every atom."""
    mma = [
        {
            "key": f"mma{number}",
            "name": atom.name,
            "a": dtype(atom.a).cxx,
            "b": dtype(atom.b).cxx,
            "acc": dtype(atom.acc).cxx,
        }
        for number, atom in enumerate(MMA_ATOMS.values())
    ]
    copies = [
        {"key": f"{copy.name}.{bits}", "name": copy.name, "element": f"uint{bits}_t"}
        for copy in LDMATRIX
        for bits in ((16,) if copy.transposed else (8, 16, 32))
    ]
    for copy in COPY_G2S.values():
        for bits in copy.bits:
            register = "uint128_t" if bits == 128 else f"uint{bits}_t"
            zfill = "_ZFILL" if copy.asynchronous else ""
            copies.append(
                {
                    "key": f"{copy.name}.{bits}",
                    "name": f"{copy.name}{zfill}<{register}>",
                    "element": "uint8_t",
                }
            )
    source = environment().get_template("oracle_atoms.cpp").render(mma=mma, copies=copies)
    return run_program(source, directory, "atoms")


def test_every_atom_is_cutes(tmp_path: Path) -> None:
    atoms = _atoms(tmp_path)
    for number, (name, atom) in enumerate(MMA_ATOMS.items()):
        assert atoms[f"mma{number}.shape"].tolist() == [*atom.shape, atom.threads], name
        for operand in "abc":
            own = getattr(atom, f"{operand}_tv").table()
            assert atoms[f"mma{number}.{operand}"].tolist() == own, (name, operand)
    for copy in LDMATRIX:
        for bits in (16,) if copy.transposed else (8, 16, 32):
            _check_ldmatrix(copy, bits, atoms)
    for name, copy_g2s in COPY_G2S.items():  # one vector of one thread
        for bits in copy_g2s.bits:
            assert atoms[f"{name}.{bits}.threads"].tolist() == [1], name
            for end in ("src", "dst"):
                assert atoms[f"{name}.{bits}.{end}"].tolist() == list(range(bits // 8)), name


def _check_ldmatrix(copy: CopyAtomS2R, bits: int, atoms: Arrays) -> None:
    """CuTe's ldmatrix moves what the PTX ISA says."""
    src, dst = (atoms[f"{copy.name}.{bits}.{end}"].reshape(-1, 32).T for end in ("src", "dst"))
    piece, row = 32 // bits, 128 // bits
    assert dst.shape == (32, copy.values(bits))
    assert src.shape == (32, row)
    for lane in range(32):
        for value in range(copy.values(bits)):
            matrix, line, place = value // piece, lane // 4, lane % 4 * piece + value % piece
            if copy.transposed:
                line, place = place, line
            assert dst[lane, value] == src[8 * matrix + line, place], (copy.name, bits, lane, value)
        # Lanes beyond the matrices supply addresses that nobody reads: CuTe repeats the first ones.
        assert src[lane].tolist() == src[lane % (8 * copy.matrices)].tolist()
