"""Seeded random configs: few fields given, or a resolved config with odd values in some fields."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from cutegen.arch import ARCHS, ArchName
from cutegen.atoms import COPY_G2S, COPY_S2R, MMA_ATOMS, MmaAtom
from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.fuzz.hopper import odd_fields, wgmma_data
from cutegen.fuzz.vectors import vector_fields
from cutegen.resolve import resolve
from cutegen.rules import judge

__all__ = ["PARTITIONED", "legal_config", "odd_config", "sparse_config"]

#: Mainloops that partition tiles among threads, to draw from: multistage, with the most fields, comes thrice.
PARTITIONED = ("simt", "direct", *["multistage"] * 3)

_OUTPUTS: dict[str, tuple[str, ...]] = {
    "f32": ("f32", "f16", "bf16", "e4m3", "e5m2"),
    "f16": ("f16", "f32", "bf16"),
    "f64": ("f64", "f32"),
    "s32": ("s32", "f32", "s8", "u8", "f16"),
}
_PATIENCE = 2000


def sparse_config(
    rng: Random, *, archs: Sequence[ArchName] = (), mainloops: Sequence[str] = ()
) -> GemmConfig:
    """Types and majors that the architecture has; tile, stages, warps and so on now and then.

    Args:
        rng: Where randomness comes from.
        archs: Architectures to choose from; all by default.
        mainloops: Mainloops to choose from; all by default.
    """
    arch = rng.choice(list(archs or ARCHS))
    mainloop = rng.choice(mainloops or PARTITIONED)
    if mainloop == "collective":  # only when it is asked for: one takes the compiler a minute
        return GemmConfig.model_validate(wgmma_data(rng, mainloop))
    if mainloop == "tma_wgmma" or (not mainloops and arch == "sm_90a" and rng.random() < 0.5):
        return GemmConfig.model_validate(wgmma_data(rng))
    atom = rng.choice(
        [a for a in MMA_ATOMS.values() if a.min_cc <= ARCHS[arch].cc and a.is_simt == (mainloop == "simt")]
    )
    data: dict[str, Any] = {
        "arch": arch,
        "mainloop": mainloop,
        "a": {"dtype": atom.a, "major": rng.choice("km")},
        "b": {"dtype": atom.b, "major": rng.choice("kn")},
        "accumulator": atom.acc,
        "d": {"dtype": rng.choice(_OUTPUTS[atom.acc]), "major": rng.choice("nm")},
    }
    if rng.random() < 0.3:
        data["c"] = {"dtype": rng.choice(_OUTPUTS[atom.acc]), "major": rng.choice("nm")}
    for name in ("a", "b", "c", "d"):
        if name in data and rng.random() < 0.3:
            least = dtype(data[name]["dtype"]).bytes
            data[name]["align"] = rng.choice([a for a in (1, 2, 4, 8, 16) if a >= least])
    if rng.random() < 0.6:
        data["tile"] = _tile(rng, atom)
    tiled_mma: dict[str, Any] = {}
    if rng.random() < 0.3:
        tiled_mma["atom"] = atom.name
    if rng.random() < 0.3:
        tiled_mma["layout"] = _warps(rng, atom, data.get("tile"))
    if tiled_mma:
        data["tiled_mma"] = tiled_mma
    if mainloop != "direct" and rng.random() < 0.4:
        data["stages"] = rng.randint(1, 6)
    if rng.random() < 0.3:
        data["epilogue"] = {"store": rng.choice(["direct", "smem"]), **vector_fields(rng)}
    if rng.random() < 0.3:
        data["scheduler"] = {"raster": rng.choice("mn"), "group": rng.choice([1, 2, 3, 8])}
    if rng.random() < 0.1:
        data["fragment_buffers"] = rng.choice([1, 2])
    return GemmConfig.model_validate(data)


def _tile(rng: Random, atom: MmaAtom) -> list[int]:
    m, n, k = atom.shape
    if atom.is_simt:
        extents = [8, 16, 32, 48, 64, 96, 128]
        return [rng.choice(extents), rng.choice(extents), rng.choice([1, 2, 4, 8, 12, 16])]
    return [
        m * rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9]),
        n * rng.choice([1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 16, 16, 20]),
        k * rng.choice([1, 2, 2, 3, 4, 4, 5, 6]),
    ]


def _warps(rng: Random, atom: MmaAtom, tile: list[int] | None) -> list[int]:
    if atom.is_simt:
        choices = [(16, 16), (8, 16), (16, 8), (8, 8), (32, 4), (12, 8), (6, 16), (24, 4), (5, 32)]
    else:
        choices = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (2, 4), (4, 2), (1, 4)] * 2
        choices += [(3, 1), (1, 3), (3, 2), (2, 3), (5, 1), (1, 5), (6, 1), (1, 7), (3, 3)]
    fitting = [
        (m, n)
        for m, n in choices
        if tile is None or (tile[0] % (atom.shape[0] * m) == 0 and tile[1] % (atom.shape[1] * n) == 0)
    ]
    m, n = rng.choice(fitting or [(1, 1)])
    return [m, n, 1]


def legal_config(rng: Random, **choices: Any) -> GemmConfig:
    """The resolved form of a sparse config that the rules accept; choices as for :func:`sparse_config`."""
    for _ in range(_PATIENCE):
        config = sparse_config(rng, **choices)
        if not judge(config):
            return resolve(config)
    raise RuntimeError(f"none of {_PATIENCE} random configs is legal; the choices are {choices}")


def odd_config(rng: Random, **choices: Any) -> GemmConfig:
    """A legal resolved config with odd values in one to three fields, which may or may not be legal."""
    base = legal_config(rng, **choices)
    data = base.model_dump()
    if base.mainloop in ("tma_wgmma", "collective"):
        fields = odd_fields(rng, base.a.dtype)
        for name in rng.sample(list(fields), rng.randint(1, 3)):
            data[name] = fields[name]
        return GemmConfig.model_validate(data)
    atom = MMA_ATOMS[base.tiled_mma.atom or ""]
    tile, layout = base.tile or (1, 1, 1), base.tiled_mma.layout or (1, 1, 1)
    kinds = ["permutation", "smem", "swizzle", "g2s", "s2r", "stages", "store", "align", "warps"]
    if base.mainloop == "direct":
        kinds = ["permutation", "store", "align", "warps"]
    for _ in range(rng.randint(1, 3)):
        which, kind = rng.choice("ab"), rng.choice(kinds)
        element = dtype(data[which]["dtype"])
        if kind == "permutation":
            mode = rng.randrange(3)
            span = atom.shape[mode] * layout[mode]
            data["tiled_mma"]["permutation"] = list(data["tiled_mma"]["permutation"])
            data["tiled_mma"]["permutation"][mode] = _permutation(rng, span, tile[mode])
        elif kind == "smem":
            data["smem"][which] = _smem(rng, tile["ab".index(which)], tile[2], element.bytes)
        elif kind == "swizzle":
            data["smem"][which]["swizzle"] = _swizzle(rng)
        elif kind == "g2s":
            data["g2s"][which] = _copy(rng, atom.threads * layout[0] * layout[1], element.bits)
        elif kind == "s2r":
            data["s2r"][which] = rng.choice(list(COPY_S2R))
        elif kind == "stages":
            data["stages"], data["fragment_buffers"] = rng.randint(1, 8), None
        elif kind == "align":
            data[which]["align"] = rng.choice([a for a in (1, 2, 4, 8, 16) if a >= element.bytes])
        elif kind == "warps":
            data["tiled_mma"]["layout"] = _warps(rng, atom, None)
        else:
            data["epilogue"] = {"store": rng.choice(["direct", "smem"]), **vector_fields(rng)}
    return GemmConfig.model_validate(data)


def _divisors(extent: int) -> list[int]:
    return [d for d in range(1, extent + 1) if extent % d == 0]


def _permutation(rng: Random, span: int, extent: int) -> Any:
    size = span * rng.choice(_divisors(max(1, extent // span)))
    if rng.random() < 0.3:
        return size
    first = rng.choice(_divisors(size))
    if rng.random() < 0.5:
        return {"shape": [first, size // first], "stride": [size // first, 1]}
    second = rng.choice(_divisors(size // first))
    shape = [first, second, size // first // second]
    stride, current = [0, 0, 0], 1
    for mode in rng.sample(range(3), 3):
        stride[mode] = current
        current *= shape[mode]
    return {"shape": shape, "stride": stride}


def _swizzle(rng: Random) -> Any:
    if rng.random() < 0.3:
        return "none"
    b = rng.choice([0, 1, 2, 3])
    return [b, rng.choice([2, 3, 3, 4, 5]), rng.choice([1, -1, 1]) * rng.choice([b, 3, 3, 4])]


def _smem(rng: Random, mn: int, k: int, size: int) -> dict[str, Any]:
    shape = [rng.choice(_divisors(mn)), rng.choice(_divisors(k))]
    run = rng.randrange(2)
    pad = rng.choice([0, 0, 1, 4, 16 // size, 32 // size, shape[run]])
    stride = [1, 1]
    stride[1 - run] = shape[run] + pad
    return {"shape": shape, "stride": stride, "swizzle": _swizzle(rng)}


def _copy(rng: Random, threads: int, bits: int) -> dict[str, Any]:
    atom = rng.choice(list(COPY_G2S.values()))
    width = rng.choice(atom.bits)
    along = rng.choice(_divisors(threads))
    vector = max(1, width // bits) * rng.choice([1, 1, 1, 2])
    shape = [threads // along, along]
    return {
        "atom": atom.name,
        "bits": width,
        "threads": {"shape": shape, "stride": [along, 1] if rng.random() < 0.7 else [1, shape[0]]},
        "values": {"shape": [1, vector] if rng.random() < 0.5 else [vector, 1]},
    }
