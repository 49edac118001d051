"""Pictures as files: valid, small, quick, the same every time, within their paper; and the command."""

from __future__ import annotations

import re
import sys
import time
from math import dist
from pathlib import Path
from types import ModuleType
from typing import Any, get_args
from xml.etree import ElementTree

import pytest

import cutegen
from cutegen.cli.draw import WHATS
from cutegen.pictures import PICTURES, What, draw, picture_bytes, pictures_of, to_svg, to_tex
from cutegen.pictures.colours import HUES, is_light, of_groups
from cutegen.pictures.place import place
from cutegen.pictures.shapes import Box, Line, Words
from cutegen.plan import Plan, plan
from tests.support.cli import document, invoke

EXAMPLES = Path(__file__).parents[2] / "examples"
CONFIG = str(EXAMPLES / "ampere_bf16.yaml")
NAMES = ("ampere_bf16", "sm80_f32", "sm75_f16", "simple", "hopper/pingpong", "hopper/multicast")
SPACE = "{http://www.w3.org/2000/svg}"

#: The widest tile, copied element by element: as much as a picture can have.
NARROW = """
arch: sm_80
a: {dtype: s8, align: 1}
b: {dtype: s8, align: 1}
tile: [256, 128, 64]
"""


def planned(name: str) -> Plan:
    return plan(cutegen.load(EXAMPLES / f"{name}.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_svg_is_valid_and_says_what_it_is(name: str) -> None:
    found = planned(name)
    for what in pictures_of(found):
        picture = draw(found, what, label="gemm.yaml")
        text = to_svg(picture)
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SPACE}svg"
        title = root.findtext(f"{SPACE}title")
        assert title is not None
        assert picture.title in title
        assert "gemm.yaml; " in title
        words = {element.text for element in root.iter(f"{SPACE}text")}
        assert {picture.title, picture.subtitle} <= words
        cells = sum(len(grid.cells) for grid in picture.grids)
        keys = sum(1 for element in root.iter(f"{SPACE}rect") if "data-key" in element.attrib)
        assert keys == sum(1 for grid in picture.grids for cell in grid.cells if cell.key) <= cells
        assert len(text) < 3_000_000


def test_nothing_lies_outside_the_paper() -> None:
    for name in NAMES:
        found = planned(name)
        for what in pictures_of(found):
            drawing = place(draw(found, what))
            boxes = [shape for shape in drawing.shapes if isinstance(shape, Box)]
            for box in boxes:
                assert min(box.x, box.y) >= 0, (name, what, box)
                assert box.x + box.width <= drawing.width, (name, what, box)
                assert box.y + box.height <= drawing.height, (name, what, box)
            for shape in drawing.shapes:
                if isinstance(shape, Words):
                    assert 0 < shape.y <= drawing.height, (name, what, shape)
                    assert 0 <= shape.x <= drawing.width, (name, what, shape)
                    assert shape.size >= 5
                elif isinstance(shape, Line):
                    assert max(shape.x1, shape.x2) <= drawing.width


def test_all_pictures_of_a_kernel_take_seconds_and_few_bytes() -> None:
    config = cutegen.loads("{arch: sm_80, a: {dtype: bf16}, b: {dtype: bf16}, tile: [128, 128, 64]}")
    found = plan(config)
    begin = time.process_time()
    texts = [to_svg(draw(found, what)) for what in PICTURES]
    assert time.process_time() - begin < 3
    assert max(map(len, texts)) < 1_000_000


def test_the_largest_pictures_stay_small() -> None:
    found = plan(cutegen.loads(NARROW))
    for what in ("smem-a", "g2s-a", "tv-c"):
        picture = draw(found, what)
        assert len(to_svg(picture)) < 3_000_000
        assert len(to_tex(picture)) < 3_000_000


def test_the_same_kernel_gives_the_same_bytes() -> None:
    for what in PICTURES:
        one, two = (draw(planned("ampere_bf16"), what) for _ in range(2))
        assert to_svg(one) == to_svg(two)
        assert to_tex(one) == to_tex(two)
    assert to_svg(draw(planned("ampere_bf16"), "tv-a")) != to_svg(draw(planned("sm80_bf16"), "tv-a"))


@pytest.mark.parametrize("what", ["smem-a", "pipeline"])
def test_the_pictures_of_the_docs_are_up_to_date(what: str, update_goldens: bool) -> None:
    path = EXAMPLES.parent / "docs" / "pictures" / f"{what}.svg"
    text = to_svg(draw(planned("ampere_bf16"), what, label="ampere_bf16.yaml"))
    if update_goldens:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "run this test with --update-goldens"


def test_the_page_names_every_picture() -> None:
    page = (EXAMPLES.parent / "docs" / "pictures.md").read_text(encoding="utf-8")
    for what in PICTURES:
        assert f"`{what}`" in page


def test_a_notebook_shows_it() -> None:
    picture = cutegen.draw(cutegen.load(CONFIG), "mma")
    assert picture._repr_svg_() == to_svg(picture)


@pytest.mark.parametrize("name", NAMES)
def test_tex_is_balanced_and_escaped(name: str) -> None:
    found = planned(name)
    for what in pictures_of(found):
        text = to_tex(draw(found, what, label="50%_a&b#c.yaml"))
        plain = re.sub(r"\\[{}\\%&#_$]", "", text)
        depth = 0
        for character in plain:
            depth += (character == "{") - (character == "}")
            assert depth >= 0
        assert depth == 0
        assert re.findall(r"\\(begin|end)\{(\w+)\}", text) == [
            ("begin", "document"),
            ("begin", "tikzpicture"),
            ("end", "tikzpicture"),
            ("end", "document"),
        ]
        body = [line for line in plain.splitlines() if line.startswith(r"\node")]
        assert body
        assert not [line for line in body if re.search(r"[%&#_$^~<>]", line)]
        used = set(re.findall(r"fill=(cutegen\d+)", text))
        assert used == set(re.findall(r"definecolor\{(cutegen\d+)\}", text))
        assert all(line.endswith(";") for line in text.splitlines() if line.startswith((r"\path", r"\node")))


# ---- colours


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


#: What is seen without red, green and blue cones (Machado, Oliveira, Fernandes, 2009; severity 1), and how
#: far apart colours are then at least: the last is rare.
BLIND = (
    (((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)), 35),
    (((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)), 35),
    (((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)), 20),
)


def test_letters_can_be_read_on_every_colour() -> None:
    for colour in (*HUES, *of_groups(16), *of_groups(32)):
        letters = luminance("#000000") if is_light(colour) else 1.0
        low, high = sorted((luminance(colour), letters))
        assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def test_hues_differ_for_the_colour_blind_too() -> None:
    assert len(set(HUES)) == 8
    for rows, apart in BLIND:
        parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in HUES]
        seen = [[sum(w * p for w, p in zip(row, rgb, strict=True)) for row in rows] for rgb in parts]
        for index, one in enumerate(seen):
            assert all(dist(one, other) > apart for other in seen[:index]), HUES[index]
    ramp = [luminance(colour) for colour in of_groups(32)]
    assert ramp == sorted(ramp)
    assert len(set(of_groups(32))) == 32


# ---- the command


def test_the_choices_are_the_pictures() -> None:
    assert get_args(What) == PICTURES == WHATS


def test_one_picture_goes_to_stdout_or_to_a_file(tmp_path: Path) -> None:
    found = invoke("draw", CONFIG, "--what", "mma")
    assert found.exit_code == 0
    assert found.stdout.startswith("<svg ")
    path = tmp_path / "mma.svg"
    written = invoke("draw", CONFIG, "--what", "mma", "-o", str(path))
    assert (written.exit_code, written.stdout) == (0, "")
    assert "wrote" in written.stderr
    assert path.read_text(encoding="utf-8") == found.stdout
    assert "ampere_bf16.yaml; sm_80 multistage" in found.stdout


def test_several_pictures_get_their_names(tmp_path: Path) -> None:
    path = tmp_path / "a.b.tex"
    found = document(
        "draw", CONFIG, "--what", "mma", "--what", "pipeline", "--what", "mma", "-o", str(path), "--json"
    )
    assert found["ok"] is True
    assert [p["what"] for p in found["pictures"]] == ["mma", "pipeline"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.b-mma.tex", "a.b-pipeline.tex"]
    for each in found["pictures"]:
        content = Path(each["path"]).read_bytes()
        assert len(content) == each["bytes"]
        assert content.startswith(b"% ")
        assert each["text"] is None
    everything = document("draw", str(EXAMPLES / "simple.yaml"), "--json")
    assert [p["what"] for p in everything["pictures"]] == ["tv-a", "tv-b", "tv-c", "mma", "pipeline"]
    assert all(p["text"].startswith("<svg ") and p["path"] is None for p in everything["pictures"])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            [],
            "-o must name a file for 11 pictures (got none); write -o gemm.svg, or --what with one of smem-a",
        ),
        (["-o", "x.gif"], "must end in .svg, .png, .pdf or .tex (got x.gif); name it x.gif.svg"),
        (
            ["-o", "no/x.svg", "--what", "mma"],
            "no/x.svg cannot be written: No such file or directory; name another",
        ),
        (["--what", "layout"], "'layout' is not one of"),
    ],
)
def test_bad_command_lines(args: list[str], words: str) -> None:
    found = invoke("draw", CONFIG, *args)
    assert found.exit_code == 2
    assert words in " ".join(found.stderr.split())


def test_a_mainloop_without_such_a_picture() -> None:
    for name, words in (
        ("simple", "tv-a, tv-b, tv-c, mma, pipeline (got smem-a)"),
        ("collective/e4m3", "(got collective)"),
    ):
        found = document("draw", str(EXAMPLES / f"{name}.yaml"), "--what", "smem-a", "--json")
        assert (found["ok"], found["exit_code"], found["error"]) == (False, 2, "ConfigError")
        assert words in found["message"]


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_png_and_pdf_need_cairosvg(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    path = tmp_path / f"x.{kind}"
    found = document("draw", CONFIG, "--what", "mma", "-o", str(path), "--json")
    assert (found["exit_code"], found["error"]) == (3, "ToolchainError")
    assert re.search(
        rf"{kind.upper()} needs CairoSVG, which is not installed; pip install .*draw", found["message"]
    )
    assert not path.exists()


def test_cairo_itself_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def find_spec(self, name: str, *rest: Any) -> None:
            if name == "cairosvg":
                raise OSError('no library called "cairo-2" was found\nand more')

    monkeypatch.delitem(sys.modules, "cairosvg", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(cutegen.ToolchainError, match=r'\(no library called "cairo-2" was found\).*libcairo2'):
        picture_bytes(draw(planned("simple"), "mma"), ".png")


def test_what_cairosvg_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = ModuleType("cairosvg")
    fake.svg2png = lambda bytestring, scale: b"PNG%d" % scale + bytestring[:4]
    fake.svg2pdf = lambda bytestring: b"PDF" + bytestring[:4]
    monkeypatch.setitem(sys.modules, "cairosvg", fake)
    picture = draw(planned("simple"), "mma")
    assert picture_bytes(picture, ".png") == b"PNG2<svg"
    assert picture_bytes(picture, ".pdf") == b"PDF<svg"


@pytest.mark.filterwarnings("default")  # those of CairoSVG are its own
def test_real_png_and_pdf() -> None:
    try:
        import cairosvg  # noqa: F401
    except (ImportError, OSError) as error:
        pytest.skip(f"no CairoSVG, or no cairo ({error}); install cutegen[draw]")
    picture = draw(planned("ampere_bf16"), "pipeline")
    drawing = place(picture)
    png = picture_bytes(picture, ".png")
    assert png.startswith(b"\x89PNG")
    size = (int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big"))
    assert size == (2 * drawing.width, 2 * drawing.height)
    assert picture_bytes(picture, ".pdf").startswith(b"%PDF")
