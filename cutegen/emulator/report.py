"""What an emulated run found: findings of the sanitizer, traffic of memory accesses, instruction counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from cutegen.emulator.kinds import KINDS

__all__ = ["EmulatorReport", "Finding", "Instructions", "Place", "Traffic"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place in the source.

    Attributes:
        file: Name of the file, or ``?`` where the compiler kept none.
        line: Line in it; 0 where the compiler kept none.
        function: The function that the line is in.
    """

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One fault of a kernel; the same fault of other threads at the same line is only counted.

    Attributes:
        kind: Stable id, for example ``race-raw``.
        place: Where it happened.
        other: Where the access is that it conflicts with, if there is one.
        block: The CTA of its first occurrence.
        thread: The thread in that CTA.
        tensor: What was accessed, by name.
        offset: Bytes from its begin; None where that has no meaning.
        bytes: Width of the access.
        message: What happened, in words.
        count: How often it happened.
    """

    kind: str
    place: Place
    other: Place | None
    block: tuple[int, int, int]
    thread: int
    tensor: str
    offset: int | None
    bytes: int
    message: str
    count: int

    @property
    def title(self) -> str:
        """The kind in a few words."""
        return KINDS.get(self.kind, (self.kind, ""))[0]

    @property
    def hint(self) -> str:
        """What mends such a fault."""
        return KINDS.get(self.kind, ("", ""))[1]

    def __str__(self) -> str:
        where = f" [{self.tensor}" + (f" +{self.offset}" if self.offset is not None else "") + "]"
        text = f"{self.place}: {self.title}: {self.message}{where if self.tensor else ''}"
        if self.other is not None:
            text += f"\n  the other access: {self.other}"
        block = ",".join(map(str, self.block))
        text += (
            f"\n  first by thread {self.thread} of CTA ({block}), {self.count} time{'s' * (self.count != 1)}"
        )
        return text + (f"\n  hint: {self.hint}" if self.hint else "")


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Warp-wide accesses of one kind at one line.

    Attributes:
        place: The line.
        kind: ``G2S``, ``S2R A``, ``S2R B``, ``S2R``, ``R2S``, ``G2R`` or ``R2G``.
        access: ``ldmatrix``, ``stmatrix``, ``load``, ``store`` or ``cp.async``.
        space: ``shared``, whose cost is in wavefronts, or ``global``, in sectors of 32 bytes.
        tensor: The buffer whose data it moves, where that is known.
        bytes: Of one lane.
        requests: Warp-wide accesses.
        cost: Wavefronts or sectors of all of them.
        ideal: The fewest in which the same words, or bytes, could be had.
        worst: The largest cost of one request.
    """

    place: Place
    kind: str
    access: str
    space: str
    tensor: str
    bytes: int
    requests: int
    cost: int
    ideal: int
    worst: int

    @property
    def degree(self) -> float:
        """Cost over ideal: 1.0 is without conflicts or waste."""
        return self.cost / self.ideal if self.ideal else 1.0


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """How often warps executed one tensor-core instruction at one line."""

    place: Place
    name: str
    count: int


@dataclass(frozen=True, kw_only=True)
class EmulatorReport:
    """Everything that one run showed.

    Attributes:
        kernel: Name of the kernel.
        findings: Faults; empty for a clean kernel.
        traffic: Costs of accesses; empty without the sanitizer.
        instructions: Tensor-core instructions; empty without the sanitizer.
        ctas: CTAs that ran.
        seconds: How long the run took.
        sanitized: Whether anything was checked.
        output: What the kernel and its host program printed.
        status: Exit status of a program with its own ``main``; 0 otherwise.
    """

    kernel: str
    findings: tuple[Finding, ...] = ()
    traffic: tuple[Traffic, ...] = ()
    instructions: tuple[Instructions, ...] = ()
    ctas: int = 0
    seconds: float = 0.0
    sanitized: bool = True
    output: str = ""
    status: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def by_kind(self, space: str = "shared") -> dict[str, Traffic]:
        """Traffic of one space summed over lines, by kind."""
        sums: dict[str, Traffic] = {}
        for t in self.traffic:
            if t.space != space:
                continue
            have = sums.get(t.kind)
            sums[t.kind] = Traffic(
                place=t.place,
                kind=t.kind,
                access=t.access if have is None or have.access == t.access else "several",
                space=space,
                tensor=t.tensor if have is None or have.tensor == t.tensor else "several",
                bytes=t.bytes if have is None or have.bytes == t.bytes else 0,
                requests=t.requests + (have.requests if have else 0),
                cost=t.cost + (have.cost if have else 0),
                ideal=t.ideal + (have.ideal if have else 0),
                worst=max(t.worst, have.worst if have else 0),
            )
        return sums

    def to_dict(self) -> dict[str, Any]:
        """The report as a JSON-ready dictionary."""
        data = asdict(self)
        for item, finding in zip(data["findings"], self.findings, strict=True):
            item["title"], item["hint"] = finding.title, finding.hint
        for item, traffic in zip(data["traffic"], self.traffic, strict=True):
            item["degree"] = traffic.degree
        data["clean"] = self.clean
        return data

    def summary(self) -> str:
        """The report as a few lines for a terminal."""
        lines = [f"{self.kernel}: {self.ctas} CTAs in {self.seconds:.2f} s"]
        if self.sanitized:
            count = len(self.findings)
            lines[0] += ", clean" if self.clean else f", {count} finding{'s' * (count != 1)}"
        lines += [str(finding) for finding in self.findings]
        for space, unit in (("shared", "wavefronts"), ("global", "sectors")):
            for kind, t in sorted(self.by_kind(space).items()):
                lines.append(f"  {space} {kind}: {t.cost} {unit}, ideal {t.ideal} ({t.degree:.2f}x)")
        return "\n".join(lines)
