"""What people who know BLAS, torch, numpy or CUTLASS write, and what it is called here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cutegen.arch import ARCHS
from cutegen.dtypes import ALIASES, DTYPES

__all__ = ["field_hint", "value_hint"]

_PREFIX = re.compile(r"^(torch|np|numpy|jnp|jax|ml_dtypes|cutlass|cute|tl|nv)(\.|::|_)|^__(nv_)?")
_TYPES: dict[str, str] = {
    "tfloat32": "tf32",
    "tensorfloat32": "tf32",
    "float_e4m3": "e4m3",
    "fp8e4m3": "e4m3",
    "float8_e4m3": "e4m3",
    "fp8_e4m3fn": "e4m3",
    "float8e4nv": "e4m3",
    "float_e5m2": "e5m2",
    "fp8e5m2": "e5m2",
    "float8e5": "e5m2",
    "single": "f32",
    "bf": "bf16",
    "nv_bfloat16": "bf16",
    "int": "s32",
    "char": "s8",
    "byte": "u8",
}
_NO_TYPES: dict[str, str] = {
    "fp8": "dtype: e4m3 for operands, dtype: e5m2 for a wider range",
    "float8": "dtype: e4m3 for operands, dtype: e5m2 for a wider range",
    "bool": "dtype: u8",
}
#: GPUs that run code of sm_80, besides those whose arch a config can name.
_NEWER = frozenset({87, 88, 90, 100, 101, 103, 110, 120, 121})
_GENERATIONS: Mapping[str, str] = {
    "turing": "sm_75",
    "t4": "sm_75",
    "ampere": "sm_80",
    "a100": "sm_80",
    "a10": "sm_86",
    "ada": "sm_89",
    "l4": "sm_89",
    "l40": "sm_89",
    "l40s": "sm_89",
    "hopper": "sm_90a",
    "h100": "sm_90a",
    "h200": "sm_90a",
    "blackwell": "sm_100a",
    "b200": "sm_100a",
}
_MAJORS: Mapping[str, Mapping[str, str]] = {
    "a": {"row": "k", "col": "m", "t": "k"},
    "b": {"row": "n", "col": "k", "t": "n"},
    "c": {"row": "n", "col": "m"},
    "d": {"row": "n", "col": "m"},
}
_FIRST: Mapping[str, str] = {"a": "k or m", "b": "k or n", "c": "n or m", "d": "n or m"}
_MEANING: Mapping[str, str] = {
    "a": "A is (M,K): row-major is k, column-major is m",
    "b": "B is (N,K): a row-major (K,N) matrix is n, a column-major one, or a weight (N,K) row by row, is k",
    "c": "C is (M,N): row-major is n, column-major is m",
    "d": "D is (M,N): row-major is n, column-major is m",
}
_CALL = "it is an argument of the call, kernel(a, b, c, alpha=..., beta=...), not of the config"
_SIZES = "M, N and K are those of the matrices of a call; tile: [128, 128, 32] is what one CTA computes"
_TILE = "use tile: [128, 128, 32]"
_MODES = "the warps along M, N and K"
_WARPS = f"use tiled_mma.layout: [2, 2, 1], {_MODES}"
_TARGET = "use arch: sm_80; the GPU is chosen with --target"
_WORDS: tuple[tuple[str, str], ...] = (
    ("alpha beta", _CALL),
    ("m n k problem problem_size shape", _SIZES),
    ("blk block block_m block_n block_k cta_tile cta_tiler tile_shape tile_size bm bn bk", _TILE),
    ("threadblock threadblock_shape", _TILE),
    ("warps num_warps threads num_threads warp_layout atom_layout", _WARPS),
    ("num_stages pipeline pipeline_stages", "did you mean stages? write stages: 3"),
    (
        "acc acc_dtype accumulator_dtype accumulator_type compute_type",
        "did you mean accumulator? write accumulator: f32",
    ),
    ("target sm gpu device", _TARGET),
    ("out_dtype output_dtype out output", "use d: {dtype: f16}"),
)
_ELSEWHERE: Mapping[str, str] = {word: hint for words, hint in _WORDS for word in words.split()}
_LAYOUT_WORDS = (
    "layout layouts order trans transpose transa transb trans_a trans_b ta tb row_major col_major",
    "a_layout b_layout layout_a layout_b layout_c layout_d stride strides ld lda ldb ldc ldd",
)
_LAYOUTS = frozenset(" ".join(_LAYOUT_WORDS).split())


def field_hint(path: Sequence[str | int], value: Any) -> str | None:
    """The way out of a field that is none, where other tools have one of that name.

    Args:
        path: Where it stands.
        value: What it was given.
    """
    name = str(path[-1]).lower()
    if path == ("layout",) and isinstance(value, list | tuple) and len(value) == 3:
        return f"use tiled_mma.layout: {list(value)}, {_MODES}"
    if name in _LAYOUTS and (len(path) == 1 or path[0] in _MEANING):
        return _layout_hint(path, name, value)
    return _ELSEWHERE.get(name) if len(path) == 1 else None


def _layout_hint(path: Sequence[str | int], name: str, value: Any) -> str:
    if len(path) > 1:
        side = str(path[0])
        major = _major(side, value)
        return (
            f"use {side}.major: {major} ({_MEANING[side]})"
            if major
            else f"use {side}.major; {_MEANING[side]}"
        )
    word = str(value).lower()
    if re.fullmatch(r"[tn]{2}", word):
        majors = ("k" if word[0] == "t" else "m", "k" if word[1] == "n" else "n")
        if word == "tn":
            return "use a.major: k with b.major: k, which is TN"
        return f"use a.major: {majors[0]} with b.major: {majors[1]}, which is {word.upper()}"
    side = next((s for s in "abcd" if name.endswith(f"_{s}") or name.startswith(f"{s}_")), "")
    if side:
        major = _major(side, value)
        return f"use {side}.major: {major or _FIRST[side]} ({_MEANING[side]})"
    return "say where stride 1 is: a.major: k or m, b.major: k or n, d.major: n or m"


def _major(side: str, value: Any) -> str | None:
    word = re.sub(r"[-_ ]?(major|order|layout)$", "", str(value).lower().split(".")[-1].split("::")[-1])
    word = {"column": "col", "r": "row", "c": "col", "rowmajor": "row", "columnmajor": "col"}.get(word, word)
    return _MAJORS[side].get(word)


def value_hint(path: Sequence[str | int], value: Any) -> str | None:
    """The way out of a value that is none of those allowed, where it is known what was meant."""
    name = path[-1] if path else ""
    if path == ("arch",):
        return _arch_hint(str(value))
    if name in ("dtype", "accumulator"):
        return _type_hint(str(name), str(value))
    if name == "major" and path[0] in _MEANING:
        side = str(path[0])
        major = _major(side, value)
        return f"use {side}.major: {major} ({_MEANING[side]})" if major else None
    if name == "tile" and isinstance(value, str):
        extents = re.findall(r"\d+", value)
        return f"write 'tile: [{', '.join(extents)}]'" if len(extents) == 3 else None
    return None


def _type_hint(field: str, value: str) -> str | None:
    word = value.strip().lower()
    if re.fullmatch(r"<class '[\w.]+'>", word):  # numpy.float16 and the like
        word = word[8:-2]
    while (shorter := _PREFIX.sub("", word)) != word:
        word = shorter
    word = word.removesuffix("_t")
    if word in _NO_TYPES:
        return f"use {_NO_TYPES[word]}".replace("dtype", field)
    known: dict[str, str] = {**_TYPES, **ALIASES, **{str(name): str(name) for name in DTYPES}}
    if word in known:
        return f"did you mean {known[word]}?"
    if re.fullmatch(r"(u?int|[su]|fp|float|f|nvfp|mxfp)[46]([a-z_]\w*)?", word):
        return "4-bit and 6-bit types are not supported; 8-bit ones are: s8, u8, e4m3, e5m2"
    return None


def _arch_hint(value: str) -> str | None:
    word = value.strip().lower()
    if word in _GENERATIONS:
        return f"use arch: {_GENERATIONS[word]}"
    match = re.fullmatch(r"(?:sm_?|compute_?|gfx)?(\d{1,2}\.\d|\d{2,3})([af]?)", word)
    if match is None:
        return None
    cc = int(match[1].replace(".", ""))
    same = next((name for name, known in ARCHS.items() if known.cc == cc), None)
    if same is not None and (not same.endswith("a") or match[2] == "a"):
        return f"did you mean {same}? write arch: {same}"
    if cc < min(known.cc for known in ARCHS.values()):
        return "cutegen needs sm_75 or later: use arch: sm_75 for the oldest GPUs that it knows"
    if cc not in _NEWER:
        return None
    text = f"use arch: sm_80 with --target sm_{cc}, a binary of mma.sync kernels for that GPU"
    if same == "sm_90a":
        text += "; or arch: sm_90a for mainloop: tma_wgmma (its multistage mainloop is mma.sync, too)"
    elif same is not None:
        text += f"; or arch: {same}: its multistage mainloop is mma.sync, too, with more shared memory"
    return text
