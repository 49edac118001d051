"""Turn the runtime's records into a report whose places are lines of the kernel's source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cutegen.emulator.job import Job, Outcome
from cutegen.emulator.report import EmulatorReport, Finding, Instructions, Place, Traffic
from cutegen.emulator.symbols import Chains, resolve

__all__ = ["collect"]

_UNKNOWN = Place(file="?", line=0)
_KINDS = {
    ("shared", "cp.async"): "G2S",
    ("shared", "ldmatrix"): "S2R",
    ("shared", "load"): "S2R",
    ("shared", "store"): "R2S",
    ("shared", "stmatrix"): "R2S",
    ("global", "cp.async"): "G2S",
    ("global", "load"): "G2R",
    ("global", "store"): "R2G",
}
_SAME_EVERYWHERE = frozenset({"deadlock", "divergent-barrier", "divergent-collective"})


def collect(job: Job, outcome: Outcome) -> EmulatorReport:
    """The report of one run."""
    records = outcome.records
    base = next((r["base"] for r in records if r["type"] == "module"), 0)
    pcs = {r[key] for r in records for key in ("pc", "other_pc") if r.get(key)}
    chains = resolve(job.compiled.library, (pc - base for pc in pcs))
    places = _Places(f"{job.compiled.name}.cu", chains, base)
    return EmulatorReport(
        kernel=job.compiled.name,
        findings=_findings([r for r in records if r["type"] == "finding"], places),
        traffic=_traffic([r for r in records if r["type"] == "traffic"], places),
        instructions=_instructions([r for r in records if r["type"] == "instruction"], places),
        ctas=outcome.ctas * job.cluster[0] * job.cluster[1] * job.cluster[2],
        seconds=outcome.seconds,
        sanitized=job.sanitize,
        output=outcome.output,
        status=outcome.status,
    )


class _Places:
    """Looks addresses up: the innermost place in the kernel's own source, else the innermost of all."""

    def __init__(self, source: str, chains: Chains, base: int) -> None:
        self._source = source
        self._chains = chains
        self._base = base

    def chain(self, pc: int) -> tuple[Place, ...]:
        return self._chains.get(pc - self._base, ())

    def place(self, pc: int) -> Place:
        chain = self.chain(pc)
        own = next((p for p in chain if p.file == self._source and p.line), None)
        return own or next((p for p in chain if p.line), _UNKNOWN)

    def passes_through(self, pc: int, pattern: str) -> bool:
        """Whether a function on the way to an address has a name like this."""
        return any(re.search(pattern, place.function) for place in self.chain(pc))

    def operand(self, pc: int) -> str:
        """The operand that template arguments of the callers name, as in ``s2r<OperandA>``."""
        for place in self.chain(pc):
            if match := re.search(r"\bOperand([AB])\b", place.function):
                return match[1]
        return ""


def _findings(records: Sequence[dict[str, Any]], places: _Places) -> tuple[Finding, ...]:
    merged: dict[tuple[str, Place, str], Finding] = {}
    # Workers report in any order; the lowest CTA is the one to name, so that reports of two runs agree.
    for r in sorted(records, key=lambda r: tuple(reversed(r["block"]))):
        place = places.place(r["pc"]) if r["pc"] else _UNKNOWN
        other = places.place(r["other_pc"]) if r["other_pc"] else None
        if r["kind"] == "divergent-barrier" and other == place and r["pc"] != r["other_pc"]:
            continue  # the compiler doubled the code; it is one barrier of the source
        tensor = r["tensor"]
        key = (r["kind"], place, "" if r["kind"] in _SAME_EVERYWHERE else tensor)
        known = merged.get(key)
        if known is None:
            merged[key] = Finding(
                kind=r["kind"],
                place=place,
                other=other,
                block=(r["block"][0], r["block"][1], r["block"][2]),
                thread=r["thread"],
                tensor=tensor,
                offset=r["offset"] if r["offset"] >= 0 or tensor else None,
                bytes=r["bytes"],
                message=r["message"],
                count=r["count"],
            )
        else:
            merged[key] = Finding(**{**known.__dict__, "count": known.count + r["count"]})
    return tuple(sorted(merged.values(), key=lambda f: (f.place.file, f.place.line, f.kind)))


def _traffic(records: Sequence[dict[str, Any]], places: _Places) -> tuple[Traffic, ...]:
    merged: dict[tuple[Any, ...], list[int]] = {}
    for r in records:
        tensor = r["tensor"]
        kind = _KINDS.get((r["space"], r["access"]), r["access"])
        operand = places.operand(r["pc"])
        if kind == "S2R" and not operand and places.passes_through(r["pc"], r"\b(move_rows|store)\b"):
            kind = "S2G"
        if kind in ("G2S", "S2R") and (tensor in ("A", "B") or operand):
            kind += f" {tensor if tensor in ('A', 'B') else operand}"
        elif kind == "R2S" and operand:
            kind = f"G2S {operand}"  # an operand on its way through registers
        key = (places.place(r["pc"]), kind, r["access"], r["space"], tensor, r["bytes"])
        sums = merged.setdefault(key, [0, 0, 0, 0])
        for i, name in enumerate(("requests", "cost", "ideal")):
            sums[i] += r[name]
        sums[3] = max(sums[3], r["worst"])
    return tuple(
        Traffic(
            place=place, kind=kind, access=access, space=space, tensor=tensor, bytes=width,
            requests=requests, cost=cost, ideal=ideal, worst=worst,
        )
        for (place, kind, access, space, tensor, width), (requests, cost, ideal, worst) in sorted(
            merged.items(), key=lambda item: (item[0][0].file, item[0][0].line, item[0][1], item[0][3])
        )
    )  # fmt: skip


def _instructions(records: Sequence[dict[str, Any]], places: _Places) -> tuple[Instructions, ...]:
    sums: dict[tuple[Place, str], int] = {}
    for r in records:
        key = (places.place(r["pc"]), r["name"])
        sums[key] = sums.get(key, 0) + r["count"]
    return tuple(
        Instructions(place=place, name=name, count=count)
        for (place, name), count in sorted(sums.items(), key=lambda item: (item[0][0].file, item[0][0].line))
    )
