"""Reading configs: every mistake has a place and a way out, and nothing but ConfigError comes out."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from cutegen.config import GemmConfig, Operand
from cutegen.errors import ConfigError
from cutegen.loader import dump, load, load_document, loads, validate
from cutegen.schema_errors import EXAMPLES
from cutegen.yamlread import MAX_CHARS, MAX_DEPTH, parse

MINIMAL = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\n"


def mistakes(text: str) -> list[str]:
    """The lines of the violations in ``text``, each without the file's name."""
    with pytest.raises(ConfigError) as caught:
        loads(text, name="f.yaml")
    assert all(v.fix and v.need and v.got for v in caught.value.violations)
    return [str(v).removeprefix("f.yaml:") for v in caught.value.violations]


def test_minimal_config_loads() -> None:
    config = loads(MINIMAL)
    assert config == GemmConfig(arch="sm_80", a=Operand(dtype="bf16"), b=Operand(dtype="bf16"))


def test_n_and_y_are_strings() -> None:
    config = loads("arch: sm_80\na: {dtype: bf16, major: m}\nb: {dtype: bf16, major: n}\nd: {major: n}\n")
    assert config.b.major == "n"
    assert config.d.major == "n"
    assert parse("{n: n, y: y, on: on, yes: no}", "f").data == {"n": "n", "y": "y", "on": "on", "yes": "no"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("10", 10),
        ("-3", -3),
        ("010", "010"),  # octal in YAML 1.1, decimal in 1.2: neither is meant
        ("0o17", 15),
        ("0x1F", 31),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        (".5", 0.5),
        (".inf", float("inf")),
        ("~", None),
        ("null", None),
        ("2001-01-01", "2001-01-01"),
        ("=", "="),
        ('"3"', "3"),
        ("!!str 3", "3"),
        ("!!int 3", 3),
        ("'n'", "n"),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    found = parse(f"x: {text}", "f").data["x"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["auto", "null", "", "~"])
@pytest.mark.parametrize("field", ["stages", "tile", "tiled_mma", "smem", "scheduler", "limits", "c"])
def test_auto_and_empty_mean_left_out(field: str, text: str) -> None:
    assert loads(f"{MINIMAL}{field}: {text}\n") == loads(MINIMAL)


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        # syntax
        ("a: b: c\n", "1:5", "well-formed"),
        ("a: [1, 2\nb: 3\n", "2:2", "close the bracket"),
        ("a:\n\tb: 1\n", "2:1", "spaces, not with tabs"),
        ("a: 'x\n", "2:1", "close the quote"),
        ("a: 1\n b: 2\n", "2:3", "indentation"),
        ("a: @x\n", "1:4", "quote"),
        ("a: \x07\n", "1:4", "U+0007"),
        ('x: 1\na: "\\U00110000"\n', "2:7", "out of range"),
        ('a: "\\ud800"\n', "1:4", "surrogate"),
        ("%YAML 3.0\n---\na: 1\n", "1:1", "incompatible"),
        # structure
        ("", "1:1", "an empty file"),
        ("# only a comment\n", "1:1", "an empty file"),
        ("---\n", "2:1", "an empty file"),
        ("[1, 2]\n", "1:1", "must be a mapping"),
        ("just words\n", "1:1", "must be a mapping"),
        (f"{MINIMAL}---\n{MINIMAL}", "4:1", "one document"),
        (f"{MINIMAL}stages: 3\ntile: auto\nstages: 4\n", "6:1", "twice, first in line 4"),
        ("arch: sm_80\na: {dtype: f16, dtype: f16}\n", "2:17", "a.dtype: must be given once"),
        ("? [a, b]\n: 1\n", "1:3", "must be a name"),
        ("a: &x [*x]\n", "1:8", "contains itself"),
        ("a: *nowhere\n", "1:4", "without an anchor"),
        ("<<: 3\na: 1\n", "1:1", "must merge mappings"),
        ("a: !!python/object/apply:os.system [ls]\n", "1:4", "the tag"),
        ("a: !!int x\n", "1:4", "!!int"),
        ("a: 99999999999999999999\n", "1:4", "64 bits"),
        (f"a: {'9' * 5000}\n", "1:4", "64 bits"),
        ("[" * 200, f"1:{MAX_DEPTH + 2}", "nest"),
        ("- " * 200, f"1:{2 * MAX_DEPTH + 3}", "nest"),
        # fields
        (f"{MINIMAL}tiel: [1, 2, 3]\n", "4:1", "did you mean tile?"),
        (f"{MINIMAL}num_stages: 3\n", "4:1", "did you mean stages?"),
        (f"{MINIMAL}acc: f32\n", "4:1", "did you mean accumulator?"),
        (f"{MINIMAL}swizzle: none\n", "4:1", "did you mean smem.a.swizzle or smem.b.swizzle?"),
        (
            f"{MINIMAL}tiled_mma:\n  layuot: [2, 2, 1]\n",
            "5:3",
            "tiled_mma.layuot: must be a field of tiled_mma",
        ),
        (f"{MINIMAL}zzz: 1\n", "4:1", "use one of arch, mainloop"),
        (f'{MINIMAL}"\\e[31mred": 1\n', "4:1", r'"\x1b[31mred": must be a field'),
        ("a: {dtype: f16}\nb: {dtype: f16}\n", "1:1", "arch: must be given (got nothing); add 'arch: sm_80'"),
        ("arch: sm_80\na: {major: k}\nb: {dtype: f16}\n", "2:1", "a.dtype: must be given"),
        ("arch:\na: {dtype: f16}\nb: {dtype: f16}\n", "1:6", "arch: must be"),
        ("arch: auto\na: {dtype: f16}\nb: {dtype: f16}\n", "1:7", "arch: must be"),
        # values
        ("arch: sm80\na: {dtype: f16}\nb: {dtype: f16}\n", "1:7", "did you mean sm_80?"),
        ("arch: 80\na: {dtype: f16}\nb: {dtype: f16}\n", "1:7", "must be one of sm_75"),
        ("arch: sm_90\na: {dtype: f16}\nb: {dtype: f16}\n", "1:7", "arch: sm_80 with --target sm_90"),
        ("arch: sm_80\na: {dtype: bfloat}\nb: {dtype: f16}\n", "2:12", "did you mean bfloat16?"),
        ("arch: sm_80\na: {dtype: FP16}\nb: {dtype: f16}\n", "2:12", "did you mean f16?"),
        ("arch: sm_80\na: f16\nb: {dtype: f16}\n", "2:4", "a: must be a mapping with dtype, major"),
        (f"{MINIMAL}mainloop: multistaged\n", "4:11", "did you mean multistage?"),
        (f'{MINIMAL}stages: "3"\n', "4:9", "write 3, without quotes"),
        (f"{MINIMAL}stages: 03\n", "4:9", "write 3, without quotes or leading zeros"),
        (f"{MINIMAL}stages: 3.0\n", "4:9", "must be an integer (got 3.0)"),
        (f"{MINIMAL}stages: true\n", "4:9", "must be an integer (got true)"),
        (f"{MINIMAL}stages: [3]\n", "4:9", "must be an integer (got [3])"),
        (f"{MINIMAL}tile: [128, 128]\n", "4:7", "must be a list of 3 integers (got [128, 128])"),
        (f"{MINIMAL}tile: [128, 128, 32, 1]\n", "4:7", "must be a list of 3 integers"),
        (f"{MINIMAL}tile: [128, x, 32]\n", "4:13", "tile[1]: must be an integer (got x)"),
        (f"{MINIMAL}tile: 128x128x32\n", "4:7", "must be a list of 3 integers"),
        (f"{MINIMAL}tile: {{m: 128}}\n", "4:7", "must be a list of 3 integers"),
        (f"{MINIMAL}scheduler: {{group: 0}}\n", "4:20", "must be at least 1 (got 0)"),
        (f"{MINIMAL}scheduler: {{raster: y}}\n", "4:21", 'must be one of m, n (got "y")'),
        (f"{MINIMAL}limits: {{max_spills: -1}}\n", "4:22", "must be at least 0 (got -1)"),
        (f"{MINIMAL}a2: 1\n", "4:1", "a2: must be a field"),
        (
            f"{MINIMAL}smem:\n  a: {{shape: [8, 32], stride: [32, 1], swizzle: [2, 3, q]}}\n",
            "5:56",
            "smem.a.swizzle[2]: must be an integer (got q)",
        ),
        (
            f"{MINIMAL}smem:\n  a: {{shape: [8, 32], stride: [32, 1], swizzle: [2, 3]}}\n",
            "5:49",
            "must be none or a list of 3 integers (got [2, 3])",
        ),
        (
            f"{MINIMAL}smem:\n  a: {{shape: [8, 32], stride: [32, 1], swizzle: nan}}\n",
            "5:49",
            "must be none or a list of 3 integers (got nan)",
        ),
        (f"{MINIMAL}smem:\n  a: {{shape: [8, 32]}}\n", "5:3", "smem.a.stride: must be given"),
        (
            f"{MINIMAL}tiled_mma:\n  permutation: [32, {{shape: [2, x]}}, 16]\n",
            "5:33",
            "tiled_mma.permutation[1].shape[1]: must be an integer (got x)",
        ),
        (
            f"{MINIMAL}tiled_mma:\n  permutation: [32, q, 16]\n",
            "5:21",
            "must be an integer or a mapping with shape, stride (got q)",
        ),
    ],
)
def test_mistake_has_place_and_words(text: str, where: str, words: str) -> None:
    found = mistakes(text)
    assert any(line.startswith(f"{where}: ") and words in line for line in found), found
    assert len(found) == 1 or "arch:" in text or text.startswith("a:"), found


def test_all_mistakes_at_once_in_the_order_of_the_file() -> None:
    found = mistakes("arch: sm_81\na: {dtype: bf17}\nb: {}\nstages: x\ntile: [1]\nfoo: 1\n")
    assert [line.split(" ", 1)[0] for line in found] == ["1:7:", "2:12:", "3:1:", "4:9:", "5:7:", "6:1:"]
    assert all("[schema]" in line for line in found)


def test_message_names_the_file_as_given(tmp_path: Path) -> None:
    path = tmp_path / "my config.yaml"
    path.write_text(f"{MINIMAL}stages: x\n")
    with pytest.raises(ConfigError, match=re.escape(f"{path}:4:9: stages: must be an integer")):
        load(path)


def test_mistakes_survive_pickling() -> None:
    with pytest.raises(ConfigError) as caught:
        loads("arch: sm_81\n")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.to_dict() == caught.value.to_dict()


def test_anchors_and_merges() -> None:
    config = loads(
        "arch: sm_80\na: &op {dtype: bf16, align: 8}\nb: *op\n"
        "d: {<<: *op, align: 4}\nc: {<<: [*op, {major: m}]}\n"
    )
    assert (config.b.align, config.d.align, config.d.dtype) == (8, 4, "bf16")
    assert (config.c.dtype, config.c.major) == ("bf16", "m")


def test_places_of_merged_and_repeated_fields() -> None:
    loaded = validate(
        parse("arch: sm_80\na: &op {dtype: bf16, major: k}\nb: *op\nd: {<<: *op, major: n}\n", "f")
    )
    assert loaded.locate("b") == "f:3:4"
    assert loaded.locate("b.dtype") == "f:2:16"
    assert loaded.locate("d.dtype") == "f:2:16"
    assert loaded.locate("d.major") == "f:4:21"


def test_alias_bomb_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "expand fewer aliases" in mistakes("\n".join(lines))[0]


def test_deep_aliases_are_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 60)]
    assert "nest" in mistakes("\n".join(lines))[0]


def test_huge_text_is_refused() -> None:
    assert f"{MAX_CHARS}" in mistakes("#" * (MAX_CHARS + 1))[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(f"# größer\n{MINIMAL}".encode(encoding))
    assert load(path) == loads(MINIMAL)
    path.write_bytes(f"stages: x\n{MINIMAL}".encode(encoding))
    with pytest.raises(ConfigError, match=":1:9: stages"):
        load(path)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_endings(newline: str) -> None:
    assert mistakes(f"{MINIMAL}stages: x\n".replace("\n", newline))[0].startswith("4:9: ")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"arch: sm_80\nab\xff: 1\n")
    with pytest.raises(ConfigError, match=re.escape(f"{path}:2:3: must be UTF-8 text (got byte 0xff)")):
        load(path)


def test_missing_file_names_the_closest(tmp_path: Path) -> None:
    (tmp_path / "ampere.yaml").write_text(MINIMAL)
    with pytest.raises(ConfigError, match=r"no such file; did you mean .*ampere\.yaml\?"):
        load(tmp_path / "amper.yaml")
    with pytest.raises(ConfigError, match="does not exist"):
        load(tmp_path / "nowhere" / "x.yaml")
    with pytest.raises(ConfigError, match="is a directory"):
        load(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load("a\0b.yaml")


def test_locate_finds_fields_and_their_nearest_parent() -> None:
    loaded = validate(
        parse(
            "arch: sm_80\n"
            "a: {dtype: bf16}\n"
            "b: {dtype: bf16}\n"
            "tile: [128,  64, 32]\n"
            "smem:\n"
            "  a: {shape: [8, 32], stride: [32, 1]}\n"
            "tiled_mma:\n"
            "  permutation: [32, {shape: [2, 8], stride: [1, 2]}, 16]\n",
            "f.yaml",
        )
    )
    assert loaded.locate("arch") == "f.yaml:1:7"
    assert loaded.locate("tile") == "f.yaml:4:7"
    assert loaded.locate("tile[1]") == "f.yaml:4:14"
    assert loaded.locate("tile.1") == "f.yaml:4:14"
    assert loaded.locate("smem") == "f.yaml:5:1"
    assert loaded.locate("smem.a.shape") == "f.yaml:6:14"
    assert loaded.locate("smem.b.shape") == "f.yaml:5:1"  # not given: its nearest parent
    assert loaded.locate("smem.a.swizzle") == "f.yaml:6:6"
    assert loaded.locate("tiled_mma.permutation[1].stride") == "f.yaml:8:45"
    assert loaded.locate("stages") == "f.yaml:1:1"
    assert loaded.locate("") == "f.yaml:1:1"


def test_given_tells_what_the_file_says() -> None:
    loaded = validate(parse(f"{MINIMAL}stages: 3\ntile: auto\nsmem: {{a: auto}}\n", "f"))
    assert [loaded.given(f) for f in ("stages", "tile", "smem.a", "a.dtype", "a.major")] == [
        True,
        False,
        False,
        True,
        False,
    ]


def test_located_error_adds_places(tmp_path: Path) -> None:
    from cutegen.errors import Violation

    path = tmp_path / "c.yaml"
    path.write_text(f"{MINIMAL}stages: 9\n")
    violation = Violation(rule="stages-fit", field="stages", got="9", need="must be at most 6", fix="write 6")
    error = load_document(path).located_error(ConfigError("no", [violation]))
    assert f"{path}:4:9: stages: must be at most 6 (got 9); write 6 [stages-fit]" in str(error)
    assert error.to_dict()["violations"][0]["position"] == f"{path}:4:9"


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_messages_are_right(name: str) -> None:
    """What a message tells the user to write is accepted where that field stands."""
    parents = {
        "dtype": "a",
        "layout": "tiled_mma",
        "permutation": "tiled_mma",
        "threads": "g2s.a",
        "values": "g2s.a",
        "bits": "g2s.a",
    }
    if name in ("shape", "stride", "swizzle"):
        text = f"{MINIMAL}smem: {{a: {{shape: [8, 32], stride: [32, 1], swizzle: [2, 3, 3]}}}}\n"
        assert f"{name}: {EXAMPLES[name]}" in text
    elif name in ("arch", "a", "b"):
        text = f"{name}: {EXAMPLES[name]}\n" + "".join(
            line + "\n" for line in MINIMAL.splitlines() if not line.startswith(f"{name}:")
        )
    elif name == "dtype":
        text = MINIMAL.replace("a: {dtype: bf16}", f"a: {{dtype: {EXAMPLES[name]}}}")
    elif name in parents:
        nested = f"{name}: {EXAMPLES[name]}"
        for parent in reversed(parents[name].split(".")):
            nested = f"{parent}: {{{nested}}}"
        text = f"{MINIMAL}{nested}\n"
    else:
        text = f"{MINIMAL}{name}: {EXAMPLES[name]}\n"
    loads(text)


def test_dump_is_short_and_ordered() -> None:
    text = dump(
        loads(MINIMAL + "stages: 3\nd: {major: m}\ntile: [128, 128, 32]\ntiled_mma: {layout: [2, 2, 1]}\n")
    )
    assert text == (
        "arch: sm_80\n"
        "a: {dtype: bf16}\n"
        "b: {dtype: bf16}\n"
        "d: {major: m}\n"
        "tile: [128, 128, 32]\n"
        "stages: 3\n"
        "tiled_mma:\n"
        "  layout: [2, 2, 1]\n"
        "scheduler: {raster: m}\n"
    )
