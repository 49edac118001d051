"""Seeded random configs: few fields given, all fields given, or anything that pydantic accepts."""

from __future__ import annotations

from random import Random
from typing import Any, get_args

from cutegen.arch import ARCHS, ArchName
from cutegen.atoms import COPY_G2S, COPY_S2R, MMA_ATOMS, MmaAtom
from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.resolve import resolve
from cutegen.rules import judge

__all__ = ["explicit_config", "legal_config", "sparse_config", "wild_config"]

_OUTPUTS: dict[str, tuple[str, ...]] = {
    "f32": ("f32", "f16", "bf16", "e4m3", "e5m2"),
    "f16": ("f16", "f32", "bf16"),
    "f64": ("f64", "f32"),
    "s32": ("s32", "f32", "s8", "u8", "f16"),
}


def _pick_atom(rng: Random, arch: ArchName, mainloop: str) -> MmaAtom:
    return rng.choice(
        [a for a in MMA_ATOMS.values() if a.min_cc <= ARCHS[arch].cc and a.is_simt == (mainloop == "simt")]
    )


def sparse_config(rng: Random, *, arch: ArchName | None = None, mainloop: str | None = None) -> GemmConfig:
    """Types and majors that the architecture has; tile, stages and warps now and then, of sensible sizes."""
    arch = arch or rng.choice(list(ARCHS))
    mainloop = mainloop or rng.choice(["simt", "direct", "multistage", "multistage", "multistage"])
    atom = _pick_atom(rng, arch, mainloop)
    data: dict[str, Any] = {
        "arch": arch,
        "mainloop": mainloop,
        "a": {"dtype": atom.a, "major": rng.choice("km")},
        "b": {"dtype": atom.b, "major": rng.choice("kn")},
        "accumulator": atom.acc,
        "d": {"dtype": rng.choice(_OUTPUTS[atom.acc]), "major": rng.choice("nm")},
    }
    for name in ("a", "b", "d"):
        least = dtype(data[name]["dtype"]).bytes
        if rng.random() < 0.3:
            data[name]["align"] = rng.choice([a for a in (1, 2, 4, 8, 16) if a >= least])
    if rng.random() < 0.3:
        data["c"] = {"dtype": rng.choice(_OUTPUTS[atom.acc]), "major": rng.choice("nm")}
    tiled_mma: dict[str, Any] = {}
    if rng.random() < 0.3:
        tiled_mma["atom"] = atom.name
    tile = rng.random() < 0.6
    if tile:
        data["tile"] = _tile(rng, atom)
    if rng.random() < 0.3:
        tiled_mma["layout"] = _warps(rng, atom, data.get("tile"))
    if tiled_mma:
        data["tiled_mma"] = tiled_mma
    if mainloop != "direct" and rng.random() < 0.4:
        data["stages"] = rng.randint(1, 6)
    if rng.random() < 0.3:
        data["epilogue"] = {"store": rng.choice(["direct", "smem"])}
    if rng.random() < 0.3:
        data["scheduler"] = {"raster": rng.choice("mn"), "group": rng.choice([1, 2, 3, 8])}
    return GemmConfig.model_validate(data)


def _tile(rng: Random, atom: MmaAtom) -> list[int]:
    m, n, k = atom.shape
    if atom.is_simt:
        return [
            rng.choice([32, 48, 64, 96, 128]),
            rng.choice([32, 48, 64, 96, 128]),
            rng.choice([4, 8, 12, 16]),
        ]
    return [
        m * rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9]),
        n * rng.choice([1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 16, 16, 20]),
        k * rng.choice([1, 2, 2, 3, 4, 4, 5, 6]),
    ]


def _warps(rng: Random, atom: MmaAtom, tile: list[int] | None) -> list[int]:
    if atom.is_simt:
        choices = [(16, 16), (8, 16), (16, 8), (8, 8), (32, 4), (12, 8), (6, 16), (24, 4), (5, 32)]
    else:
        usual = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (2, 4), (4, 2), (1, 4)]
        odd = [(3, 1), (1, 3), (3, 2), (2, 3), (5, 1), (1, 5), (6, 1), (7, 1), (1, 7), (3, 3)]
        choices = usual + odd if tile is None else usual * 2 + odd
    fitting = [
        (m, n)
        for m, n in choices
        if tile is None or (tile[0] % (atom.shape[0] * m) == 0 and tile[1] % (atom.shape[1] * n) == 0)
    ]
    m, n = rng.choice(fitting or [(1, 1)])
    return [m, n, 1]


def legal_config(rng: Random, **keep: Any) -> GemmConfig:
    """The resolved form of a sparse config that the rules accept."""
    while True:
        cfg = sparse_config(rng, **keep)
        if not judge(cfg):
            return resolve(cfg)


def _patch(data: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for key in parents:
        data = data[key]
    data[last] = value


def explicit_config(rng: Random, **keep: Any) -> GemmConfig:
    """A legal resolved config with some fields replaced by odd values, which may or may not be legal."""
    base = legal_config(rng, **keep)
    data = base.model_dump()
    atom = MMA_ATOMS[base.tiled_mma.atom or ""]
    tile, layout = base.tile or (1, 1, 1), base.tiled_mma.layout or (1, 1, 1)
    edits = rng.randint(1, 3)
    for _ in range(edits):
        which = rng.choice("ab")
        kind = rng.choice(["permutation", "smem", "swizzle", "g2s", "s2r", "stages", "store"])
        if base.mainloop == "direct" and kind in ("smem", "swizzle", "g2s", "s2r", "stages"):
            kind = "permutation"
        if kind == "permutation":
            mode = rng.randrange(3)
            span = atom.shape[mode] * layout[mode]
            data["tiled_mma"]["permutation"] = list(data["tiled_mma"]["permutation"])
            data["tiled_mma"]["permutation"][mode] = _permutation(rng, span, tile[mode])
        elif kind == "smem":
            mn = tile[0 if which == "a" else 1]
            data["smem"][which] = _smem(rng, mn, tile[2], dtype(data[which]["dtype"]).bytes)
        elif kind == "swizzle":
            _patch(data, f"smem.{which}.swizzle", _swizzle(rng))
        elif kind == "g2s":
            threads = atom.threads * layout[0] * layout[1]
            data["g2s"][which] = _copy(rng, threads, dtype(data[which]["dtype"]).bits)
        elif kind == "s2r":
            _patch(data, f"s2r.{which}", rng.choice(list(COPY_S2R)))
        elif kind == "stages":
            data["stages"], data["fragment_buffers"] = rng.randint(1, 8), None
        else:
            _patch(data, "epilogue.store", rng.choice(["direct", "smem"]))
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
    order = rng.sample(range(3), 3)
    stride, current = [0, 0, 0], 1
    for mode in order:
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
    k_major = rng.random() < 0.5
    shape = [threads // along, along]
    return {
        "atom": atom.name,
        "bits": width,
        "threads": {"shape": shape, "stride": [along, 1] if rng.random() < 0.7 else [1, shape[0]]},
        "values": {"shape": [1, vector] if k_major else [vector, 1]},
    }


_INTS = (
    -1,
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    12,
    16,
    24,
    32,
    48,
    64,
    96,
    128,
    160,
    256,
    257,
    1024,
    4096,
    2**16,
    2**20,
)
_HUGE = (2**20 + 1, 10**9, 2**63, 10**30, -(10**20))


def _int(rng: Random) -> int:
    if rng.random() < 0.8:
        return rng.choice([1, 2, 4, 8, 16, 32, 64, 128])
    return rng.choice(_INTS) if rng.random() < 0.8 else rng.choice(_HUGE)


def _layout(rng: Random) -> dict[str, Any]:
    rank = 2 if rng.random() < 0.8 else rng.choice([0, 1, 3])
    layout: dict[str, Any] = {"shape": [_int(rng) for _ in range(rank)]}
    if rng.random() < 0.6:
        layout["stride"] = [_int(rng) for _ in range(rank if rng.random() < 0.95 else rank + 1)]
    return layout


def wild_config(rng: Random) -> GemmConfig:
    """Anything that pydantic accepts, with zero, negative and huge numbers and unknown names among it."""

    def maybe(value: Any, chance: float = 0.5) -> Any:
        return value if rng.random() < chance else None

    types: tuple[DTypeName, ...] = get_args(DTypeName)
    main = rng.choice(types)

    def align() -> Any:
        return maybe(rng.choice([1, 2, 4, 8, 16]), 0.3)

    def copy() -> dict[str, Any]:
        return {
            "atom": maybe(rng.choice([*COPY_G2S, "unknown"])),
            "bits": maybe(rng.choice([8, 16, 32, 64, 128, _int(rng)])),
            "threads": maybe(_layout(rng)),
            "values": maybe(_layout(rng)),
        }

    def smem() -> dict[str, Any]:
        usual = [rng.choice([0, 1, 2, 3, -1]), rng.choice([2, 3, 4]), rng.choice([3, 4, -3])]
        return {
            "shape": [_int(rng), _int(rng)],
            "stride": [_int(rng), 1] if rng.random() < 0.6 else [_int(rng), _int(rng)],
            "swizzle": rng.choice(["none", usual, [_int(rng), _int(rng), _int(rng)]]),
        }

    data: dict[str, Any] = {
        "arch": rng.choice(list(ARCHS)),
        "mainloop": maybe(rng.choice(["simt", "direct", "multistage", "multistage"])),
        "accumulator": maybe(rng.choice(types), 0.2),
        "tile": maybe([_int(rng), _int(rng), _int(rng)], 0.7),
        "stages": maybe(_int(rng), 0.4),
        "min_blocks": maybe(abs(_int(rng)) + 1, 0.2),
        "fragment_buffers": maybe(rng.choice([1, 2]), 0.3),
        "tiled_mma": {
            "atom": maybe(rng.choice([*MMA_ATOMS, "unknown"]), 0.4),
            "layout": maybe([rng.choice([1, 2, 4, _int(rng)]) for _ in range(3)]),
            "permutation": maybe([rng.choice([_int(rng), _layout(rng)]) for _ in range(3)], 0.4),
        },
        "smem": {"a": maybe(smem()), "b": maybe(smem())},
        "g2s": {"a": copy(), "b": copy()},
        "s2r": {
            "a": maybe(rng.choice([*COPY_S2R, "unknown"])),
            "b": maybe(rng.choice([*COPY_S2R, "unknown"])),
        },
        "epilogue": {"store": maybe(rng.choice(["direct", "smem"]))},
        "scheduler": {"group": maybe(abs(_int(rng)) + 1)},
    }
    for name in ("a", "b"):
        data[name] = {
            "dtype": main if rng.random() < 0.9 else rng.choice(types),
            "major": maybe(rng.choice("kmn")),
            "align": align(),
        }
    for name in ("c", "d"):
        data[name] = {"dtype": maybe(rng.choice(types)), "major": maybe(rng.choice("mn")), "align": align()}
    return GemmConfig.model_validate(data)
