"""``cutegen report``: what the page says, and that its data are the plan's."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import cutegen
from cutegen.layout.algebra import Layout
from cutegen.layout.banks import bank_of
from cutegen.layout.swizzle import Swizzle
from cutegen.lint import accesses
from cutegen.pictures.tile import SmemTile, kernel_tile, wgmma_tile
from cutegen.pictures.tv import owners
from cutegen.plan import KernelPlan, WgmmaPlan
from cutegen.report import kernel_data
from cutegen.report.room import LIMITS, Built, room, room_rows
from cutegen.report.tables import table
from tests.support.cli import document, invoke

EXAMPLES = Path(__file__).parents[2] / "examples"
AMPERE = str(EXAMPLES / "ampere_bf16.yaml")
PLANS = (
    "ampere_bf16",
    "sm80_bf16_nt",
    "sm75_s8",
    "sm80_f64",
    "sm80_f32",
    "simple",
    "gemm_device",
    "hopper/cooperative",
    "hopper/f16_nt",
    "hopper/swap_ab",
)
PADDED = """
arch: sm_80
a: {dtype: bf16}
b: {dtype: bf16}
tile: [64, 128, 32]
stages: 2
smem: {a: {shape: [8, 32], stride: [40, 1]}}
"""


def written(tmp_path: Path, *args: str) -> str:
    """The page that a command line writes."""
    path = tmp_path / "report.html"
    found = invoke("report", *args, "-o", str(path))
    assert found.exit_code == 0, found.output
    assert f"wrote {path}" in found.stderr
    return path.read_text(encoding="utf-8")


def data_of(page: str) -> list[dict[str, Any]]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return list(json.loads(text))


def evaluated(numbers: dict[str, Any]) -> list[int]:
    """The numbers of a map, as the page evaluates them."""
    if "table" in numbers:
        return list(numbers["table"])
    return Layout(tuple(numbers["shape"]), tuple(numbers["stride"])).table()


def places(held: dict[str, Any], steps: str) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Element to (thread, value) of all that hold it."""
    (rows, columns), (down, right) = (map(evaluated, held[name]) for name in ("thread", steps))
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for thread, start in enumerate(zip(rows, columns, strict=True)):
        for value, step in enumerate(zip(down, right, strict=True)):
            found.setdefault((start[0] + step[0], start[1] + step[1]), []).append((thread, value))
    return found


def offsets(smem: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    """Byte offset by MN and K."""
    swizzle, unit = Swizzle(*smem["swizzle"]), smem["unit"]
    by_k = evaluated(smem["k"])
    return tuple(tuple(swizzle(i + j) * unit for j in by_k) for i in evaluated(smem["mn"]))


def plan_named(name: str) -> KernelPlan | WgmmaPlan:
    config = cutegen.loads(PADDED) if name == "padded" else cutegen.load(EXAMPLES / f"{name}.yaml")
    found = cutegen.plan(config)
    assert isinstance(found, (KernelPlan, WgmmaPlan))
    return found


@pytest.mark.parametrize("name", [*PLANS, "padded"])
def test_data_are_the_plans(name: str) -> None:
    plan = plan_named(name)
    data = json.loads(json.dumps(kernel_data(plan)))
    for which in ("a", "b"):
        tensor = data["tensors"][which]
        if isinstance(plan, WgmmaPlan):
            assert tensor["held"] is None
            tile: SmemTile = wgmma_tile(plan, which)  # type: ignore[arg-type]
        else:
            assert places(tensor["held"], "value") == owners(plan, which).held  # type: ignore[arg-type]
            assert tensor["held"]["block"] == owners(plan, which).per_block  # type: ignore[arg-type]
            if plan.config.mainloop == "direct":
                assert tensor["smem"] is None
                continue
            tile = kernel_tile(plan, which)  # type: ignore[arg-type]
        assert offsets(tensor["smem"]) == tile.table
        assert tensor["smem"]["bytes"] <= tensor["smem"]["pitch"]
        assert max(map(max, tile.table)) < tensor["smem"]["bytes"]
    assert places(data["tensors"]["d"]["held"], "value") == owners(plan, "c").held
    assert data["tensors"]["d"]["held"]["block"] == plan.output.registers


@pytest.mark.parametrize("name", [n for n in (*PLANS, "padded") if "hopper" not in n])
def test_copies_are_the_plans(name: str) -> None:
    """Each element is copied once, to where its step writes."""
    plan = plan_named(name)
    assert isinstance(plan, KernelPlan)
    data = kernel_data(plan)
    assert data is not None
    for operand in (plan.a, plan.b):
        tensor = data["tensors"][operand.which]
        if operand.copy.view is None:
            assert tensor["copied"] is None
            continue
        vector, along = tensor["copied"]["vector"], tensor["copied"]["along"]
        found = {
            (mn + i * (1 - along), k + i * along): holder
            for (mn, k), (holder,) in places(tensor["copied"], "step").items()
            for i in range(vector)
        }
        rows, columns = tensor["extents"]
        assert set(found) == {(row, column) for row in range(rows) for column in range(columns)}
        swizzle, table_ = Swizzle(*tensor["smem"]["swizzle"]), offsets(tensor["smem"])
        view = operand.copy.view
        for (mn, k), (thread, step) in list(found.items())[:: 7 * vector]:
            begins = swizzle(view.thread(thread) + view.step(step)) * tensor["bytes"]
            assert begins <= table_[mn][k] < begins + vector * tensor["bytes"]


def test_stages_follow_one_another() -> None:
    """As the rendered kernel has them: a stage holds A and then B; of wgmma a ring for each."""
    kernel, wgmma = plan_named("ampere_bf16"), plan_named("hopper/cooperative")
    a, b = (kernel_data(kernel)["tensors"][which]["smem"] for which in ("a", "b"))  # type: ignore[index]
    assert isinstance(kernel, KernelPlan)
    assert (a["base"], b["base"]) == (0, kernel.b.smem_offset)
    assert a["pitch"] == b["pitch"] == kernel.stage_bytes
    a, b = (kernel_data(wgmma)["tensors"][which]["smem"] for which in ("a", "b"))  # type: ignore[index]
    assert isinstance(wgmma, WgmmaPlan)
    assert (a["base"], b["base"]) == (wgmma.shared.a, wgmma.shared.b)
    assert (a["pitch"], b["pitch"]) == (wgmma.a.stage_bytes, wgmma.b.stage_bytes)


def test_page_says_what_explain_says(tmp_path: Path) -> None:
    page = written(tmp_path, AMPERE, "--shape", "4096,4096,4096")
    facts = document("explain", AMPERE, "--shape", "4096,4096,4096", "--json")["configs"][0]
    assert facts["name"] in page
    assert "SM80_16x8x16_F32BF16BF16F32_TN" in page
    assert "1024 CTA tiles of 128 k-tiles" in page
    assert "4.74 on an A100" in page
    assert "tCrA" in page
    for access in accesses(plan_named("ampere_bf16")):
        row = f"{access.name}, {access.unit} a {access.per}</th>"
        assert row in page
    for line in cutegen.render(plan_named("ampere_bf16")).text.splitlines()[:40]:
        assert not line or line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in page
    assert re.search(
        r'<th scope="row">tile</th><td class="">\[128, 128, 32\]</td><td class=" soft"></td>', page
    )
    assert re.search(r'<th scope="row">min_blocks</th><td class="">2</td><td class=" soft">auto</td>', page)
    assert 'id="L12"' in page
    assert data_of(page)[0]["occupancy"].startswith("2 CTAs per SM of sm_80, 16 of 64 warps")


class _Links(HTMLParser):
    """What a page refers to, and its ids."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "input", "br", "img"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action", "poster", "xlink:href"):
                self.references.append(value or "")
            elif name == "id":
                self.ids.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


@pytest.mark.parametrize("name", ["ampere_bf16", "hopper/pingpong", "collective/pingpong", "gemm_device"])
def test_page_is_self_contained_small_and_soon_there(name: str, tmp_path: Path) -> None:
    begin = time.perf_counter()
    page = written(tmp_path, str(EXAMPLES / f"{name}.yaml"))
    assert time.perf_counter() - begin < 5
    assert len(page.encode()) < 3_000_000
    links = _Links()
    links.feed(page)
    assert links.open == []
    assert sorted(links.ids) == sorted(set(links.ids))
    assert all(r.startswith("#") or r == "data:," for r in links.references)
    assert {r[1:] for r in links.references if r.startswith("#")} <= set(links.ids)
    shown = re.sub(r"<span id=\"L\d+\">.*?</span>", "", page)  # the source's comments name documents
    assert set(re.findall(r"https?://[^\s\"'<>)]*", shown)) <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in shown
    assert "url(" not in shown


def test_a_collective_kernel_says_what_is_not_known(tmp_path: Path) -> None:
    page = written(tmp_path, str(EXAMPLES / "collective/pingpong.yaml"))
    assert data_of(page)[0]["kernel"] is None
    assert "data-explorer" not in page.partition("<script")[0]
    assert "builders choose its layouts when the kernel is compiled" in page
    assert "2 consumer warpgroups that take turns" in page


def test_two_configs_with_their_differences(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        Path(AMPERE).read_text() + "smem: {a: {swizzle: none, shape: [8, 32], stride: [32, 1]}}\n"
    )
    page = written(tmp_path, AMPERE, str(other))
    assert [d["label"] for d in data_of(page)] == ["ampere_bf16.yaml", "other.yaml"]
    differing = re.findall(r'<tr class="differs"><th scope="row">(.*?)</th>', page)
    assert "smem.a.swizzle" in differing
    assert "S2R A, wavefronts a k-tile" in differing
    assert "smem.a.shape" not in differing  # the same value, once given and once chosen
    assert "bank-conflicts" in page
    assert "use smem.a.swizzle: [2, 3, 3]" in page
    assert 'id="L7"' in page
    assert 'id="2-L7"' in page
    found = document("report", AMPERE, str(other), "--json")
    rows = {one["table"]: one["rows"] for one in found["differences"]}
    assert rows["Config"] == ["smem.a.swizzle"]
    assert found["text"].startswith("<!DOCTYPE html>")
    assert [k["warnings"] != [] for k in found["kernels"]] == [False, True]


def test_a_table_of_one_config_marks_nothing() -> None:
    found = table("t", ("x", "y"), [{"a": ("1", "2")}])
    assert found.differing == []
    both = table("t", ("x", "y"), [{"a": ("1", "2"), "b": ("1", "")}, {"a": ("1", "3")}], compared=1)
    assert both.differing == ["b"]


def test_names_and_texts_are_escaped(tmp_path: Path) -> None:
    evil = tmp_path / "</script><img src=x onerror=alert(1)>&.yaml".replace("/", "_")
    evil.write_text("# </script><b>\n" + Path(AMPERE).read_text())
    page = written(tmp_path, str(evil))
    assert "<img" not in page
    assert "<_script>" not in page
    assert page.count("</script>") == 2
    assert data_of(page)[0]["label"] == evil.name


def test_errors_and_exit_codes(tmp_path: Path, bad: str, illegal: str) -> None:
    for path in (bad, str(tmp_path / "none.yaml")):
        found = invoke("report", path, "-o", str(tmp_path / "r.html"))
        assert found.exit_code == 2
        assert not (tmp_path / "r.html").exists()
    found = invoke("report", AMPERE, AMPERE, AMPERE)
    assert found.exit_code == 2
    assert "a report is about one config or two (got 3)" in found.stderr
    found = invoke("report", AMPERE, "-o", str(tmp_path / "no" / "r.html"))
    assert found.exit_code == 2
    assert "-o: " in found.stderr
    assert "cannot be written" in found.stderr
    assert invoke("report", AMPERE, "--shape", "1,2").exit_code == 2
    assert document("report", illegal, "--json")["error"] == "ConfigError"


def test_a_config_that_breaks_a_rule_gets_a_page_that_says_so(tmp_path: Path, illegal: str) -> None:
    path = tmp_path / "r.html"
    found = invoke("report", illegal, AMPERE, "-o", str(path))
    assert found.exit_code == 2
    assert "[stages" in found.stderr or "[smem" in found.stderr
    page = path.read_text()
    assert "The config cannot work." in page
    assert "illegal.yaml:4:" in page
    assert "illegal.yaml breaks a rule, so that there is no kernel to show." in page
    assert [d["kernel"] is None for d in data_of(page)] == [True, False]
    assert re.search(r'<tr class="differs"><th scope="row">stages</th><td class="gap">9999</td>', page)
    assert 'id="2-L7"' in page


def test_without_a_file_the_page_goes_to_stdout() -> None:
    found = invoke("report", "-", stdin=Path(AMPERE).read_text())
    assert found.stdout.startswith("<!DOCTYPE html>")
    assert data_of(found.stdout)[0]["label"] == "stdin"


def test_scripts_are_short() -> None:
    assets = Path(cutegen.__file__).parent / "report" / "assets"
    for path in assets.iterdir():
        assert len(path.read_text().splitlines()) <= 250, path


def test_the_documents_answers_are_the_plans() -> None:
    page = (EXAMPLES.parent / "docs" / "report.md").read_text()
    plan = plan_named("ampere_bf16")
    assert isinstance(plan, KernelPlan)
    byte = plan.stage_bytes + kernel_tile(plan, "a").table[5][17]
    assert f"In bank {bank_of(byte)}, at byte {byte}." in page
    ((thread, value),) = owners(plan, "c").held[3, 9]
    assert f"Thread {thread} (warp {thread // 32}, lane {thread % 32}), as accumulator {value}." in page
    found = room(plan, None)
    assert found is not None
    assert found.found.limited_by == ("registers",)
    assert f"Registers: {found.found.ctas} CTAs per SM of sm_80, 16 of 64 warps" in page
    assert f"shared memory would allow {found.found.by_smem}." in page


def test_registers_are_the_compilers_where_the_cache_has_them() -> None:
    plan = plan_named("ampere_bf16")
    resources = {"registers": 72, "static_smem": 0, "dynamic_smem": plan.smem_bytes}
    found = room(plan, Built(target="sm_80", resources=resources))
    assert found is not None
    assert found.found.limited_by == ("shared memory", "registers")
    assert "Registers of a thread: 72, the compiler's, for sm_80." in found.sentences


def test_registers_for_another_target_are_named_and_not_used() -> None:
    plan = plan_named("ampere_bf16")
    resources = {"registers": 40, "static_smem": 0, "dynamic_smem": plan.smem_bytes}
    found, own = room(plan, Built(target="sm_90", resources=resources)), room(plan, None)
    assert found is not None
    assert own is not None
    assert (found.registers, found.found) == (own.registers, own.found)
    assert "the cache has it for sm_90 only, where the compiler took 40" in found.sentences


@pytest.mark.parametrize(
    ("name", "registers", "words"),
    [
        ("ampere_bf16", 128, "leaves a thread 128 at most, and the compiler took them all."),
        ("ampere_bf16", 72, "leaves a thread 128 at most; the compiler came to 72 by itself."),
    ],
)
def test_a_cap_of_registers_is_told(name: str, registers: int, words: str) -> None:
    plan = plan_named(name)
    resources = {"registers": registers, "static_smem": 0, "dynamic_smem": plan.smem_bytes}
    found = room(plan, Built(target=plan.arch, resources=resources))
    assert found is not None
    assert "A cap was set: min_blocks: 2 (cutegen's choice), as __launch_bounds__(256, 2), " in found.cap
    assert words in found.cap
    asked = room(plan, None, asked=True)
    assert asked is not None
    assert "min_blocks: 2 (as the config says)" in asked.cap


def test_an_estimate_is_a_range_where_the_compiler_decides() -> None:
    found = room(plan_named("simple"), None)
    assert found is not None
    assert found.least < found.found.ctas
    assert found.sentence.startswith(f"{found.least} to {found.found.ctas} CTAs per SM of sm_80, up to ")


def test_the_table_of_occupancy_has_budgets_and_marks_what_limits() -> None:
    found = room(plan_named("ampere_bf16"), None)
    assert found is not None
    rows = room_rows(found)
    assert rows["registers"] == ("65536, in 4 quarters", "26624: 8 warps of 3328, 97 a thread", "2", LIMITS)
    assert rows["shared memory"] == ("167936 B", "50176 B, 1024 of them for the driver", "3", "")
    assert rows["threads"] == ("2048", "256", "8", "")
    last = list(rows.items())[-1]
    assert last == (
        "result: the least",
        ("of sm_80, for example of an A100", "", "2", "16 of 64 warps (25 %)"),
    )


def test_accesses_and_occupancy_are_explained_on_the_page(tmp_path: Path) -> None:
    page = written(tmp_path, AMPERE)
    assert 'mark">limits</td>' in page
    assert "reads shared memory: D from shared memory to global memory" in page
    assert "writes global memory: D from shared memory to global memory" in page
    assert "A request is one instruction of a warp." in page
    assert "registers are capped so that 2 fit (min_blocks); shared memory and threads allow 3" in page
