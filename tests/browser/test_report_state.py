"""The page of ``cutegen report``: field, answer, panel, maps and keys say one thing at a time."""

from __future__ import annotations

import pytest

import cutegen
from cutegen.layout.banks import bank_of
from cutegen.pictures.tile import kernel_tile
from cutegen.pictures.tv import owners
from cutegen.plan import KernelPlan
from tests.browser.conftest import EXAMPLES
from tests.support.browser import Browser, Tab

GRIDS = ("threads", "tile-a", "tile-b", "tile-d", "memory-a", "memory-b")


@pytest.fixture(scope="module")
def plan() -> KernelPlan:
    found = cutegen.plan(cutegen.load(EXAMPLES / "ampere_bf16.yaml"))
    assert isinstance(found, KernelPlan)
    return found


def part(tab: Tab, name: str) -> str:
    return str(tab.js(f"document.querySelector('[data-part={name}]').textContent"))


def field(tab: Tab) -> str:
    return str(tab.js("document.querySelector('[data-part=query]').value"))


def ask(tab: Tab, question: str) -> str:
    """Type a question; the answer."""
    tab.js("document.querySelector('[data-part=query]').focus()")
    tab.js("document.querySelector('[data-part=query]').value = ''")
    tab.type(question)
    return part(tab, "answer")


def choose(tab: Tab, name: str, value: str) -> None:
    """Change a list of choices."""
    tab.js(
        f"(() => {{ const e = document.querySelector('[data-part={name}]'); e.value = '{value}';"
        " e.dispatchEvent(new Event('change')); })()"
    )


def lit(tab: Tab, grid: str) -> set[tuple[int, int]]:
    return {(row, column) for row, column in tab.js(f"cutegenReport[0].grids['{grid}'].lit()")}


def press_chip(tab: Tab, words: str) -> None:
    tab.js(
        "[...document.querySelectorAll('[data-part=examples] button')]"
        f".find(b => b.textContent === '{words}').click()"
    )


def key(tab: Tab, grid: str) -> tuple[str, list[tuple[str, str]]]:
    """The words of a map's key, and label and colour of each swatch."""
    words, swatches = tab.js(
        f"(() => {{ const k = document.querySelector('[data-part=\"key-{grid}\"]');"
        " return [k.textContent, [...k.querySelectorAll('.swatches > span')]"
        ".map(s => [s.textContent, getComputedStyle(s).backgroundColor])]; })()"
    )
    return words, [tuple(s) for s in swatches]


def painted(tab: Tab, grid: str, row: int, column: int) -> str:
    """The colour of a cell, without what is lit."""
    return str(
        tab.js(
            f"(() => {{ const g = cutegenReport[0].grids['{grid}'];"
            f" const [x, y] = [{column} * g.width, {row} * g.height];"
            " const p = g.base.getContext('2d').getImageData(x, y, 1, 1).data;"
            " return `rgb(${p[0]}, ${p[1]}, ${p[2]})`; })()"
        )
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_map_has_a_key_of_its_colours(
    theme: str, browser: Browser, pages: dict[str, str], plan: KernelPlan
) -> None:
    tab = browser.open(pages["ampere"], theme=theme)
    byte = kernel_tile(plan, "a").table[5][17]
    found = {grid: key(tab, grid) for grid in GRIDS}
    bank = bank_of(byte) // 4
    assert found["tile-a"][0].startswith("Colours: the bank, stage 0")
    assert (f"{4 * bank}-{4 * bank + 3}", painted(tab, "tile-a", 5, 17)) in found["tile-a"][1]
    assert found["tile-d"][0].startswith("Colours: the warp that holds it")
    assert ("2", painted(tab, "tile-d", 3, 9)) in found["tile-d"][1]  # thread 76
    assert found["memory-a"][0].startswith("Colours: k, in chunks of 16 B")
    where = byte // 128, byte % 128 // 2
    assert ("16-23", painted(tab, "memory-a", *where)) in found["memory-a"][1]
    assert [label for label, _ in found["memory-a"][1]] == ["0-7", "8-15", "16-23", "24-31"]
    choose(tab, "colour", "thread")
    for grid in GRIDS:
        words, swatches = key(tab, grid)
        assert words.startswith("Colours: the ")
        assert "thread" in words
        assert words != found[grid][0]
        assert [label for label, _ in swatches] == [str(i) for i in range(8)]
    assert ("4", painted(tab, "tile-d", 3, 9)) in key(tab, "tile-d")[1]  # thread 76, mod 8
    lowest = min(t for t, _ in owners(plan, "a").held[5, 17]) % 8
    for grid, cell in (("tile-a", (5, 17)), ("memory-a", where)):
        assert (f"{lowest}", painted(tab, grid, *cell)) in key(tab, grid)[1]
    assert tab.complaints == []


def test_the_key_of_wgmma_stays_with_the_banks(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["hopper"])
    choose(tab, "colour", "thread")
    assert key(tab, "tile-b")[0].startswith("Colours: the bank, stage 0")  # no thread holds it
    choose(tab, "stage", "1")
    assert key(tab, "tile-b")[0].startswith("Colours: the bank, stage 1")
    assert key(tab, "tile-d")[0].startswith("Colours: the thread that holds it, mod 8")


def test_the_stage_is_the_same_everywhere(tab: Tab) -> None:
    ask(tab, "A(5,17)")
    assert field(tab) == "A(5,17)"  # as it was typed
    choose(tab, "stage", "2")
    assert field(tab) == "A(5,17) stage 2"
    assert part(tab, "answer").startswith("A(5, 17) of stage 2 lies in bank ")
    press_chip(tab, "A(5,17)")  # keeps the stage
    assert field(tab) == "A(5,17) stage 2"
    assert part(tab, "answer").startswith("A(5, 17) of stage 2 ")
    ask(tab, "A(5,17) stage 1")
    assert tab.js("document.querySelector('[data-part=stage]').value") == "1"
    press_chip(tab, "D(3,9)")
    assert field(tab) == "D(3,9)"


def test_a_held_choice_is_moved_by_neither_pointer_nor_arrows(tab: Tab) -> None:
    before = ask(tab, "D(3,9)")
    tab.js("cutegenReport[0].grids['tile-d'].canvas.focus()")
    tab.key("ArrowRight")
    assert part(tab, "answer") == before
    assert field(tab) == "D(3,9)"
    assert part(tab, "keys") == "The keys are at D(3, 10): Enter chooses it, Escape lets D(3, 9) go."
    tab.key("Enter")
    assert field(tab) == "D(3,10)"
    assert part(tab, "answer").startswith("D(3, 10) is held by ")
    assert part(tab, "chosen") == "D(3, 10)"
    assert part(tab, "keys") == ""
    tab.key("Escape")
    assert field(tab) == ""
    tab.key("ArrowDown")
    assert part(tab, "chosen") == "D(4, 10)"
    assert field(tab) == ""


@pytest.mark.parametrize("question", ["occupancy", "E(5)", "A(200,0)"])
def test_what_is_no_element_leaves_none(tab: Tab, question: str) -> None:
    ask(tab, "A(5,17)")
    ask(tab, question)
    assert "A(5, 17)" not in part(tab, "chosen")
    assert all(not lit(tab, grid) for grid in GRIDS)
    assert all(not tab.js(f"cutegenReport[0].grids['{grid}'].ring()") for grid in GRIDS)
    assert "16706" not in part(tab, "facts")
    assert tab.js("getComputedStyle(document.querySelector('[data-part=lens]')).visibility") == "hidden"
    if question == "occupancy":
        assert part(tab, "chosen") == "occupancy of an SM of sm_80"
        words = (
            "2 CTAs, limits; an SM has 65536, in 4 quarters, a CTA takes 26624: 8 warps of 3328, 97 a thread"
        )
        assert words in part(tab, "facts")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("D(3,9) stage 1", 'write D(3,9) alone (got also "stage 1"): accumulators lie in registers'),
        ("occupancy sm_90", 'write occupancy alone (got also "sm_90"): the page has it for sm_80'),
        ("thread 12 stage 1", 'write thread 12 alone (got also "stage 1")'),
        ("A(5,17) there", 'write A(5,17), or A(5,17) stage 0 (got "there" for the stage)'),
        ("bank 32", "banks go from 0 to 31 (got 32)"),
        ("warp 8", "warps go from 0 to 7 (got 8)"),
        ("thread 76 (warp 1, lane 12)", "thread 76 (warp 2, lane 12) is meant, or another one"),
    ],
)
def test_no_word_is_ignored(tab: Tab, question: str, words: str) -> None:
    assert ask(tab, question).startswith(words)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("A(5, 17) of stage 1", "A(5, 17)"),
        ("A(5, 17)", "A(5, 17)"),
        ("thread 76 (warp 2, lane 12)", "thread 76 (warp 2, lane 12)"),
        ("warp 2, lane 12", "thread 76 (warp 2, lane 12)"),
        ("bank 12 of stage 1", "bank 12 of stage 1"),
        ("occupancy sm_80?", "occupancy of an SM of sm_80"),
        ("how many CTAs per SM", "occupancy of an SM of sm_80"),
    ],
)
def test_the_field_knows_the_words_of_the_page(tab: Tab, question: str, name: str) -> None:
    ask(tab, question)
    assert part(tab, "chosen") == name


def test_a_bank_and_a_warp_light_what_they_hold(tab: Tab, plan: KernelPlan) -> None:
    answer = ask(tab, "bank 12 stage 1")
    for which in ("a", "b"):
        table = kernel_tile(plan, which).table  # type: ignore[arg-type]
        held = {
            (mn, k)
            for mn, row in enumerate(table)
            for k, offset in enumerate(row)
            if bank_of(plan.stage_bytes + offset) == 12
        }
        assert f"{len(held)} elements of {which.upper()}" in answer
        assert lit(tab, f"tile-{which}") == {place if which == "a" else place[::-1] for place in held}
        assert {column // 2 for _, column in lit(tab, f"memory-{which}")} == {12}
    assert lit(tab, "tile-d") == lit(tab, "threads") == set()
    ask(tab, "warp 3")
    held = {place for place, all_ in owners(plan, "c").held.items() if any(t // 32 == 3 for t, _ in all_)}
    assert lit(tab, "tile-d") == held
    assert lit(tab, "threads") == {(3, lane) for lane in range(32)}


def test_wide_elements_take_two_banks(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["f64"])
    assert "lies in banks 0 and 1, at byte 0 " in ask(tab, "A(0,0)")
    ask(tab, "bank 1")
    assert (0, 0) in lit(tab, "tile-a")
    ask(tab, "bank 2")
    assert (0, 0) not in lit(tab, "tile-a")


def test_without_shared_memory(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["direct"])
    assert "no bank holds them" in ask(tab, "bank 1")
    assert "no stages" in ask(tab, "A(0,0) stage 0")
    assert ask(tab, "A(0,0)").startswith("A(0, 0) is held by ")
    assert tab.complaints == []


def test_all_that_hold_an_element_are_lit(tab: Tab, plan: KernelPlan) -> None:
    ask(tab, "A(5,17)")
    holders = {thread for thread, _ in owners(plan, "a").held[5, 17]}
    assert len(holders) == 4
    held = {place for place, all_ in owners(plan, "c").held.items() if holders & {t for t, _ in all_}}
    assert lit(tab, "tile-d") == held


def test_an_index_is_not_called_a_register(tab: Tab) -> None:
    for question, words in (
        ("D(3,9)", "index 1 of 0 to 63 (32-bit word 1), not a hardware register"),
        (
            "A(5,17)",
            "index 1 of 0 to 31 in k-block 1 (32-bit word 0, bits 16 to 31), not a hardware register",
        ),
    ):
        assert "register" not in ask(tab, question)
        assert words in part(tab, "facts")
    assert "value 1 of k-block 1 (k 16 to 31) of its fragment of A" in part(tab, "answer")


def test_lists_open(tab: Tab) -> None:
    ask(tab, "thread 12")
    assert part(tab, "facts").count("(") < 40
    tab.js("document.querySelector('[data-part=facts] .more').click()")
    assert part(tab, "facts").count("(") > 150
    assert tab.js("document.activeElement.textContent") == "fewer"
    tab.js("document.activeElement.click()")
    assert part(tab, "facts").count("(") < 40


def test_b_is_drawn_one_way(tab: Tab) -> None:
    names = tab.js(
        "(() => { const l = cutegenReport[0].lens, pen = l.canvas.getContext('2d'), found = [];"
        " const own = pen.fillText; pen.fillText = (words) => found.push(words);"
        " cutegenReport[0].ask('B(7,3)'); pen.fillText = own; return found; })()"
    )
    across = [word for word in names if word.startswith("n ")]
    down = [word for word in names if word.startswith("k ")]
    assert (len(across), len(down)) == (6, 7)  # as in its map: n across, k down
