"""The page of ``cutegen report`` on screens of other widths, and with the keyboard only."""

from __future__ import annotations

import pytest

from tests.support.browser import Browser, Tab


def focused(tab: Tab) -> str:
    return str(tab.js("document.activeElement.dataset.grid || document.activeElement.dataset.part || ''"))


@pytest.mark.parametrize("name", ["ampere", "hopper"])
def test_the_answer_is_seen_beside_every_map_on_a_narrow_screen(
    name: str, browser: Browser, pages: dict[str, str]
) -> None:
    tab = browser.open(pages[name], width=700, height=900)
    for grid in ("tile-d", "memory-a", "memory-b"):
        tab.js(f"cutegenReport[0].grids['{grid}'].canvas.scrollIntoView({{block: 'center'}})")
        top, bottom = tab.js(
            "(() => { const b = document.querySelector('.answer').getBoundingClientRect();"
            " return [b.top, b.bottom]; })()"
        )
        assert 300 < top < bottom <= 900
    assert tab.js("document.documentElement.scrollWidth") <= 700
    for grid in ("tile-d", "memory-a"):
        right = tab.js(f"cutegenReport[0].grids['{grid}'].canvas.getBoundingClientRect().right")
        assert right <= 690
    assert tab.complaints == []


def test_what_is_too_wide_says_so(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["ampere"], width=700, height=900)
    cue = "[...document.querySelectorAll('.picture')].map(p => getComputedStyle(p, '::before').content)"
    assert all("scroll sideways" in words for words in tab.js(cue))
    assert tab.js("document.querySelector('.picture').tabIndex") == 0
    wide = browser.open(pages["ampere"], width=1400, height=900)
    assert wide.js(cue) == ["none", "none"]


def test_the_maps_fill_the_page_and_fit_the_window(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["ampere"], width=1400, height=900)
    right, height = tab.js(
        "(() => { const b = cutegenReport[0].grids['tile-d'].canvas.getBoundingClientRect();"
        " return [b.right, b.height]; })()"
    )
    assert right > 1280
    assert height <= 840
    right = tab.js("cutegenReport[0].grids['memory-b'].canvas.getBoundingClientRect().right")
    assert right > 1280
    tab.send("Emulation.setDeviceMetricsOverride", width=700, height=900, deviceScaleFactor=1, mobile=False)
    tab.wait("cutegenReport[0].grids['tile-d'].canvas.getBoundingClientRect().right < 690")


def test_a_map_that_gets_the_focus_is_seen(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["ampere"], width=1400, height=900)
    # A map of which only the upper part is in the window.
    tab.js("cutegenReport[0].grids['tile-a'].canvas.focus()")
    tab.js("scrollBy(0, cutegenReport[0].grids['tile-d'].canvas.getBoundingClientRect().top - 500)")
    tab.key("Tab")
    assert focused(tab) == "tile-d"
    top, bottom = tab.js(
        "(() => { const b = document.activeElement.getBoundingClientRect(); return [b.top, b.bottom]; })()"
    )
    assert 0 <= top < bottom <= 900


def test_two_keys_lead_to_the_question_or_to_the_map(tab: Tab) -> None:
    tab.key("Tab")
    assert tab.js("document.activeElement.getBoundingClientRect().left") > 0
    tab.js("document.activeElement.click()")
    assert focused(tab) == "query"
    tab.js("document.querySelector('[data-skip=tile-d]').focus()")
    tab.js("document.activeElement.click()")
    assert focused(tab) == "tile-d"


def test_the_source_is_one_stop(tab: Tab) -> None:
    stops = tab.js("[...document.querySelectorAll('.source, .source *')].filter(e => e.tabIndex >= 0).length")
    assert stops == 1
    tab.js("location.hash = '#L12'")
    assert tab.js("document.querySelector(':target').id") == "L12"
    assert tab.js("document.querySelector('#L12 a').getAttribute('href')") == "#L12"


def test_a_page_without_storage_has_themes(browser: Browser, pages: dict[str, str]) -> None:
    tab = browser.open(pages["ampere"])
    code = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no storage'); }})"
    tab.send("Page.addScriptToEvaluateOnNewDocument", source=code)
    tab.send("Page.navigate", url=pages["ampere"])
    tab.wait("document.readyState === 'complete' && !!window.cutegenReport")
    with pytest.raises(AssertionError):
        tab.js("localStorage")
    tab.js("document.getElementById('theme').click()")
    assert tab.js("document.documentElement.dataset.theme") == "dark"
    assert tab.complaints == []
