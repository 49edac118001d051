"""The page of ``cutegen report`` in a browser: what it lights and says is what the plan has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cutegen
from cutegen.layout.banks import bank_of
from cutegen.pictures.tile import kernel_tile, wgmma_tile
from cutegen.pictures.tv import owners
from cutegen.plan import KernelPlan, WgmmaPlan
from tests.support.browser import Browser, Tab

EXAMPLES = Path(__file__).parents[2] / "examples"
AMPERE = EXAMPLES / "ampere_bf16.yaml"
HOPPER = EXAMPLES / "hopper" / "cooperative.yaml"
LIT = "cutegenReport[0].grids['{grid}'].lit()"


@pytest.fixture(scope="module")
def plan() -> KernelPlan:
    found = cutegen.plan(cutegen.load(AMPERE))
    assert isinstance(found, KernelPlan)
    return found


def held_by(plan: KernelPlan, tensor: str, thread: int) -> set[tuple[int, int]]:
    """The elements that a thread holds."""
    held = owners(plan, tensor).held  # type: ignore[arg-type]
    return {place for place, all_ in held.items() if any(t == thread for t, _ in all_)}


def lit(tab: Tab, grid: str) -> set[tuple[int, int]]:
    return {(row, column) for row, column in tab.js(LIT.format(grid=grid))}


def place_of(tab: Tab, grid: str, row: int, column: int) -> tuple[float, float]:
    """The middle of a cell on the screen."""
    tab.js(f"cutegenReport[0].grids['{grid}'].canvas.scrollIntoView({{block: 'center'}})")
    x, y, width, height = tab.js(
        f"(() => {{ const g = cutegenReport[0].grids['{grid}'], b = g.canvas.getBoundingClientRect();"
        " return [b.left, b.top, g.width, g.height]; })()"
    )
    return x + (column + 0.5) * width, y + (row + 0.5) * height


def answer(tab: Tab, question: str | None = None) -> str:
    if question is not None:
        tab.js("document.querySelector('[data-part=query]').focus()")
        tab.js("document.querySelector('[data-part=query]').value = ''")
        tab.type(question)
    return str(tab.js("document.querySelector('[data-part=answer]').textContent"))


def check_thread(tab: Tab, plan: KernelPlan, thread: int) -> None:
    """All that a thread holds is lit, and nothing else."""
    assert lit(tab, "tile-d") == held_by(plan, "c", thread)
    assert lit(tab, "tile-a") == held_by(plan, "a", thread)
    assert lit(tab, "tile-b") == {(k, n) for n, k in held_by(plan, "b", thread)}
    for which in ("a", "b"):
        offsets = kernel_tile(plan, which).table  # type: ignore[arg-type]
        bytes_ = {offsets[mn][k] for mn, k in held_by(plan, which, thread)}
        assert lit(tab, f"memory-{which}") == {(o // 128, o % 128 // 2) for o in bytes_}


def pixel(tab: Tab, grid: str, row: int, column: int) -> tuple[int, ...]:
    """The colour in the middle of a cell."""
    code = (
        f"(() => {{ const g = cutegenReport[0].grids['{grid}'], copy = document.createElement('canvas');"
        " const pen = copy.getContext('2d', {willReadFrequently: true});"
        f" pen.drawImage(g.canvas, -Math.floor(({column} + 0.5) * g.width * g.scale),"
        f" -Math.floor(({row} + 0.5) * g.height * g.scale));"
        " return [...pen.getImageData(0, 0, 1, 1).data]; })()"
    )
    return tuple(tab.js(code))


def test_pointing_at_a_thread_lights_what_it_holds(tab: Tab, plan: KernelPlan) -> None:
    tab.point(*place_of(tab, "threads", 2, 5))
    check_thread(tab, plan, 2 * 32 + 5)
    assert lit(tab, "threads") == {(2, 5)}
    assert answer(tab).startswith("Thread 69 (warp 2, lane 5) holds 64 elements of A, 32 elements of B, 64")
    ink = tab.js("getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()")
    rgb = tuple(int(ink[i : i + 2], 16) for i in (1, 3, 5))
    for row, column in sorted(held_by(plan, "c", 69))[4:24]:  # the first has a frame
        assert pixel(tab, "tile-d", row, column)[:3] == rgb
    assert pixel(tab, "tile-d", 127, 0)[:3] != rgb


def test_pointing_at_an_element_lights_its_thread(tab: Tab, plan: KernelPlan) -> None:
    tab.point(*place_of(tab, "tile-d", 77, 100))
    ((thread, value),) = owners(plan, "c").held[77, 100]
    check_thread(tab, plan, thread)
    assert f"D(77, 100) is held by thread {thread} " in answer(tab)
    assert f"accumulator {value} of the thread's 64" in answer(tab)
    tab.point(*place_of(tab, "tile-b", 9, 33))  # k down, n across
    holders = owners(plan, "b").held[33, 9]
    assert lit(tab, "threads") == {(t // 32, t % 32) for t, _ in holders}
    assert answer(tab).startswith("B(33, 9) of stage 0 lies in bank ")


def test_a_press_holds_the_choice_until_the_next(tab: Tab) -> None:
    first, second = place_of(tab, "threads", 1, 1), place_of(tab, "threads", 3, 4)
    tab.point(*first)
    tab.click(*first)
    tab.point(*second)
    assert lit(tab, "threads") == {(1, 1)}
    tab.click(*second)
    tab.point(*first)
    assert lit(tab, "threads") == {(3, 4)}
    tab.click(*second)  # once more lets it go
    tab.point(*first)
    assert lit(tab, "threads") == {(1, 1)}


def test_pointing_at_memory_names_the_element(tab: Tab, plan: KernelPlan) -> None:
    tab.point(*place_of(tab, "memory-a", 7, 21))
    offsets = kernel_tile(plan, "a").table
    (where,) = [(m, k) for m in range(128) for k in range(32) if offsets[m][k] == 7 * 128 + 21 * 2]
    assert answer(tab).startswith(f"A({where[0]}, {where[1]}) of stage 0 lies in bank 10, at byte 938 ")


def test_the_keyboard_does_what_the_pointer_does(tab: Tab, plan: KernelPlan) -> None:
    tab.js("cutegenReport[0].grids['threads'].canvas.focus()")
    for name in ("ArrowDown", "ArrowRight", "ArrowRight"):
        tab.key(name)
    check_thread(tab, plan, 34)
    tab.js("cutegenReport[0].grids['tile-d'].canvas.focus()")
    start = min(held_by(plan, "c", 34))
    for name in ("ArrowRight", "ArrowDown", "PageDown"):
        tab.key(name)
    row, column = start[0] + 9, start[1] + 1
    assert answer(tab).startswith(f"D({row}, {column}) is held by thread ")
    check_thread(tab, plan, owners(plan, "c").held[row, column][0][0])
    tab.key("Enter")
    tab.point(*place_of(tab, "threads", 0, 0))  # the choice is held
    assert answer(tab).startswith(f"D({row}, {column}) is held by thread ")
    tab.js("cutegenReport[0].grids['tile-d'].canvas.focus()")
    tab.key("Escape")
    tab.point(*place_of(tab, "threads", 0, 1))
    check_thread(tab, plan, 1)


def test_everything_can_be_reached_and_is_named(tab: Tab) -> None:
    names = tab.js(
        "[...document.querySelectorAll('canvas[tabindex]')].map(c => c.getAttribute('aria-label'))"
    )
    assert len(names) == 6
    assert all(names)
    tab.js("document.getElementById('theme').focus()")
    seen = set()
    for _ in range(40):
        tab.key("Tab")
        seen.add(tab.js("document.activeElement.dataset.grid || document.activeElement.dataset.part || ''"))
    assert {
        "query",
        "stage",
        "colour",
        "threads",
        "tile-a",
        "tile-b",
        "tile-d",
        "memory-a",
        "memory-b",
    } <= seen
    outline = tab.js(
        "cutegenReport[0].grids['tile-a'].canvas.focus({focusVisible: true}),"
        "getComputedStyle(document.activeElement).outlineStyle"
    )
    assert outline == "solid"
    assert tab.js("document.querySelector('[role=status]').getAttribute('aria-live')") == "polite"


def test_the_three_questions(tab: Tab, plan: KernelPlan) -> None:
    offset = kernel_tile(plan, "a").table[5][17]
    byte = plan.stage_bytes + offset
    found = answer(tab, "A(5, 17) stage 1")
    assert found.startswith(
        f"A(5, 17) of stage 1 lies in bank {bank_of(byte)}, at byte {byte} of shared memory"
    )
    ((thread, value),) = owners(plan, "c").held[3, 9]
    found = answer(tab, "D(3,9)")
    assert found == (
        f"D(3, 9) is held by thread {thread} (warp {thread // 32}, lane {thread % 32}), "
        f"accumulator {value} of the thread's 64."
    )
    found = answer(tab, "what limits occupancy")
    assert found.startswith("2 CTAs per SM of sm_80, 16 of 64 warps (25 %), limited by registers")
    assert "stages go from 0 to 2 (got 3)" in answer(tab, "B(0,0) stage 3")
    assert "A has m up to 127, k up to 31 (got 5, 32)" in answer(tab, "A(5,32)")
    assert "threads go from 0 to 255 (got 256)" in answer(tab, "thread 256")
    assert "write A(5,17) stage 1" in answer(tab, "E(5)")


def test_every_element_is_where_the_plan_has_it(tab: Tab, plan: KernelPlan) -> None:
    for which in ("a", "b"):
        tensor = f"cutegenReport[0].kernel.tensors.{which}"
        assert tab.js(f"{tensor}.offsets") == [o for row in kernel_tile(plan, which).table for o in row]  # type: ignore[arg-type]
        own = [list(map(list, h)) for _, h in sorted(owners(plan, which).held.items())]  # type: ignore[arg-type]
        assert tab.js(f"{tensor}.owners") == own
    own = [list(map(list, h)) for _, h in sorted(owners(plan, "c").held.items())]
    assert tab.js("cutegenReport[0].kernel.tensors.d.owners") == own


def test_themes(browser: Browser, pages: dict[str, str]) -> None:
    def colours(tab: Tab) -> Any:
        return tab.js(
            "[document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.picture svg .paper')).fill]"
        )

    light = browser.open(pages["ampere"], theme="light")
    assert colours(light) == ["light", "rgb(255, 255, 255)", "rgb(255, 255, 255)"]
    light.set_theme("dark")
    light.wait("document.documentElement.dataset.theme === 'dark'")
    dark = browser.open(pages["ampere"], theme="dark")
    assert colours(dark) == ["dark", "rgb(20, 24, 28)", "rgb(20, 24, 28)"]
    assert dark.js("document.getElementById('theme').textContent") == "Light"
    dark.js("document.getElementById('theme').click()")
    assert colours(dark) == ["light", "rgb(255, 255, 255)", "rgb(255, 255, 255)"]
    again = browser.open(pages["ampere"], theme="dark")  # what was chosen is remembered
    assert colours(again)[0] == "light"
    again.js("localStorage.clear()")
    assert dark.complaints == light.complaints == again.complaints == []


def test_a_wgmma_kernel_shows_what_there_is(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["hopper"])
    plan = cutegen.plan(cutegen.load(HOPPER))
    assert isinstance(plan, WgmmaPlan)
    assert tab.js("cutegenReport[0].kernel.tensors.b.offsets") == [
        o for row in wgmma_tile(plan, "b").table for o in row
    ]
    byte = plan.shared.b + plan.b.stage_bytes + wgmma_tile(plan, "b").table[7][40]
    found = answer(tab, "B(7,40) s 1")
    assert found.startswith(f"B(7, 40) of stage 1 lies in bank {bank_of(byte)}, at byte {byte} ")
    assert "no thread: wgmma reads it from shared memory" in found
    ((thread, value),) = owners(plan, "c").held[70, 9]
    assert f"consumer thread {thread} " in answer(tab, "D(70,9)")
    assert f"accumulator {value} " in answer(tab)
    assert tab.complaints == []


def test_two_kernels_and_a_collective_one(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["two"])
    shown = "[...document.querySelectorAll('[data-subject]')].map(e => e.offsetHeight > 0)"
    assert tab.js(shown) == [True, False]
    tab.js("which.value = '1'; which.dispatchEvent(new Event('change'))")
    assert tab.js(shown) == [False, True]
    assert tab.js("cutegenReport.length") == 2
    assert tab.complaints == []
    tab = browser.open(pages["collective"])
    assert tab.js("cutegenReport.length") == 0
    assert tab.complaints == []
