"""Read SASS: the instructions of a cubin, its main loop, and how far loads run ahead of their use."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

_LABEL = re.compile(r"^(\.L_\w+):")
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,6}\*/\s+(.*?);")
_BRANCH = re.compile(r"BRA.*?\(?(\.L_\w+)")
_REGISTER = re.compile(r"R(\d+)")


def nvdisasm() -> Path:
    """The disassembler, from PATH or its wheel; without one the test skips, or fails if CI promised it."""
    found = shutil.which("nvdisasm")
    if found:
        return Path(found)
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        for tool in sorted(Path(root).glob("cu*/bin/nvdisasm")):
            return tool
    reason = "no nvdisasm; install the wheel nvidia-cuda-nvdisasm"
    if "nvdisasm" in os.environ.get("CUTEGEN_REQUIRE", ""):
        pytest.fail(f"CUTEGEN_REQUIRE promises nvdisasm: {reason}", pytrace=False)
    pytest.skip(reason)


def instructions(tool: Path, cubin: Path) -> list[str]:
    """Instructions and labels (ending in a colon), in order."""
    text = subprocess.run([tool, "-c", cubin], check=True, capture_output=True, text=True).stdout
    result = []
    for line in text.splitlines():
        label = _LABEL.match(line.strip())
        instruction = _INSTRUCTION.search(line)
        if label:
            result.append(label[1] + ":")
        elif instruction:
            result.append(instruction[1].strip())
    return result


def opcode(instruction: str) -> str:
    """``HMMA`` of ``@!P0 HMMA.16816.F32 ...``."""
    words = [w for w in instruction.split() if not w.startswith("@")]
    return words[0].split(".")[0] if words else ""


def counts(code: list[str]) -> Counter[str]:
    """How often each opcode occurs."""
    return Counter(opcode(i) for i in code if not i.endswith(":"))


def main_loop(code: list[str], mma: str = "HMMA") -> list[str]:
    """The loop with the most MMAs: from a branch's target back to the branch."""
    labels = {line[:-1]: index for index, line in enumerate(code) if line.endswith(":")}
    best: tuple[int, list[str]] = (0, [])
    for index, line in enumerate(code):
        branch = _BRANCH.search(line)
        if branch and labels.get(branch[1], index) < index:
            body = code[labels[branch[1]] : index + 1]
            total = sum(mma in instruction for instruction in body)
            if total and total >= best[0]:
                best = (total, body)
    return [line for line in best[1] if not line.endswith(":")]


def shortest_loop(code: list[str], mma: str, least: int) -> list[str]:
    """The shortest loop with so many MMAs: waits that spin out of line jump back over half the kernel."""
    labels = {line[:-1]: index for index, line in enumerate(code) if line.endswith(":")}
    bodies = []
    for index, line in enumerate(code):
        branch = _BRANCH.search(line)
        if branch and labels.get(branch[1], index) < index:
            bodies.append([i for i in code[labels[branch[1]] : index + 1] if not i.endswith(":")])
    return min((b for b in bodies if sum(mma in i for i in b) >= least), key=len)


def _register(operand: str) -> int | None:
    found = _REGISTER.match(operand.strip())
    return int(found[1]) if found else None


def ldmatrix_distances(loop: list[str], mma: str = "HMMA") -> list[int]:
    """For each ldmatrix.x4 of a loop, the MMAs between it and the first one that reads its result."""
    distances = []
    for index, line in enumerate(loop):
        if opcode(line) != "LDSM":
            continue
        first = _register(line.split(None, 1)[1].split(",")[0])
        assert first is not None, line
        between = 0
        for step in range(1, len(loop)):
            other = loop[(index + step) % len(loop)]
            if mma not in other:
                continue
            operands = [_register(o) for o in other.split(None, 1)[1].split(",")]
            if any(o is not None and first <= o < first + 4 for o in operands[1:3]):
                break
            between += 1
        distances.append(between)
    return distances
