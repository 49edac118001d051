"""What a host compiler cannot take is rewritten, line for line; what the emulator keeps appears whole."""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen.emulator.rewrite.source import rewrite_source
from cutegen.emulator.rewrite.tree import rewrite_tree
from cutegen.emulator.store import ensure
from cutegen.toolchain.headers import find_cutlass


def rewritten(text: str) -> str:
    """The rewritten text, with its white space normalised."""
    result = rewrite_source(text).text
    assert result.count("\n") == text.count("\n")
    return " ".join(re.sub(r"cge::need\([^()]*\), ", "", result).split())


@pytest.mark.parametrize(
    ("asm", "call"),
    [
        (
            '"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1}, {%2}, {%3}, {%4, %5};\\n"\n'
            ': "=f"(d[0]), "=f"(d1) : "r"(a), "r"(b + 1), "f"(c0), "f"(c1)',
            "cge::mma(cge::MmaCode{16, 8, 16, 4, 2, 2, 4, 0}, {&d[0], &d1, &a, cge::ref(b + 1), &c0, &c1})",
        ),
        (
            '"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32{%0},{%1},{%2},{%3};"'
            ' : "=f"(d) : "r"(a), "r"(b), "f"(c)',
            "cge::mma(cge::MmaCode{16, 8, 8, 4, 1, 1, 4, 0}, {&d, &a, &b, &c})",
        ),
        (
            '"ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(p)',
            "cge::ldmatrix(2, true, cge::bits<uint32_t>(p), {&x, &y})",
        ),
        (
            '"cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;" :: "r"(s), "l"(g), "n"(16), "r"(n)',
            "cge::cp_async(cge::bits<uint32_t>(s), cge::bits<uint64_t>(g), cge::bits<uint32_t>(16), "
            "cge::bits<uint32_t>(n), true)",
        ),
        ('"cp.async.wait_group %0;" :: "n"(N)', "cge::cp_async_wait(cge::bits<uint32_t>(N))"),
        ('"bar.sync %[id], 64;" :: [id] "r"(x)', "cge::bar_sync(cge::bits<uint32_t>(x), uint32_t(64))"),
        (
            '"cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(y) : "r"(a), "r"(b)',
            "cge::put(y, cge::pack(cge::Cvt::s8, int32_t(cge::bits<uint32_t>(a)), "
            "int32_t(cge::bits<uint32_t>(b)), uint32_t(0)))",
        ),
        ('"tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x)', 'cge::unsupported("tanh.approx.f32")'),
        ('"" ::: "memory"', "void(0)"),
    ],
)
def test_one_instruction_becomes_one_call(asm: str, call: str) -> None:
    assert rewritten(f"f(); asm volatile({asm}); g();").replace(" ;", ";") == f"f(); {call}; g();"


def test_a_guarded_block_becomes_a_lambda() -> None:
    text = rewritten(
        'asm volatile("{\\n.reg .pred p;\\nsetp.ne.b32 p, %0, 0;\\n@p st.shared.u32 [%1], %2;\\n}\\n"'
        ' :: "r"(on), "r"(at), "r"(v));'
    )
    assert text == (
        "[&]() { bool ptx_p = 0; ptx_p = (cge::bits<uint32_t>(on) != uint32_t(0)); if (bool(ptx_p)) { "
        "cge::store<uint32_t>(cge::shared_pointer(cge::bits<uint32_t>(at)), cge::Order::plain, {&v}); }; }();"
    )


def test_asm_in_comments_and_strings_stays() -> None:
    text = '// asm("x");\nchar const* s = "asm(\\"y\\")"; /* asm volatile("z"); */\n'
    assert rewrite_source(text).text == text


def test_shared_memory_is_declared_by_the_runtime() -> None:
    assert rewritten("extern __shared__ alignas(128) float s[];") == (
        "auto& s = *reinterpret_cast<float(*)[]>(cge::dynamic_shared());"
    )
    text = rewritten("__shared__ float a[4][8], b;")
    assert "struct cge_shared_0 { float a[4][8], b; };" in text
    assert text.endswith("auto& a = cge_shared_0_at.a; auto& b = cge_shared_0_at.b;")


def test_a_launch_becomes_a_call() -> None:
    assert rewritten("  ns::k<A, f<B>><<<g, dim3(8), 64>>>(x, y[1]);") == (
        "cge::launch(dim3(g), dim3(dim3(8)), size_t(64), [=](auto... cge_a) { ns::k<A, f<B>>(cge_a...); }, "
        "x, y[1]);"
    )


def test_all_of_cutlass_is_rewritten_in_time(tmp_path: Path) -> None:
    start = time.process_time()
    result = rewrite_tree(find_cutlass()[0].include, tmp_path)
    assert time.process_time() - start < 10
    assert not result.skipped
    assert result.asm > 3000
    text = (tmp_path / "cute" / "arch" / "mma_sm80.hpp").read_text()
    assert "asm volatile" not in text
    known = text.count("cge::mma(")
    assert known > 3 * text.count("cge::unsupported(")


def _fill(directory: Path) -> None:
    time.sleep(0.2)
    (directory / "a").write_text("whole")


def _ensure(cache: str, queue: multiprocessing.Queue[tuple[str, bool]]) -> None:
    import os

    os.environ["CUTEGEN_CACHE_DIR"] = cache
    path, built = ensure("thing", "0" * 32, _fill)
    queue.put(((path / "a").read_text(), built))


def test_several_processes_build_an_entry_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[tuple[str, bool]] = context.Queue()
    workers = [context.Process(target=_ensure, args=(str(tmp_path), queue)) for _ in range(4)]
    for worker in workers:
        worker.start()
    results = [queue.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert [text for text, _ in results] == ["whole"] * 4
    assert sum(built for _, built in results) == 1


def test_a_failed_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(tmp_path))

    def fail(directory: Path) -> None:
        (directory / "half").write_text("")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        ensure("thing", "1" * 32, fail)
    assert not list(tmp_path.rglob("half"))


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_text("wh"), lambda file: None])
def test_an_entry_that_has_lost_something_is_built_anew(
    damage: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(tmp_path))
    path, _ = ensure("thing", "2" * 32, _fill)
    damage(path / "a")
    damaged = not (path / "a").exists() or (path / "a").read_text() != "whole"
    again, built = ensure("thing", "2" * 32, _fill)
    assert ((again / "a").read_text(), built) == ("whole", damaged)


def test_an_entry_without_sizes_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(tmp_path))
    path, _ = ensure("thing", "3" * 32, _fill)
    (path / "sizes.json").unlink()
    assert ensure("thing", "3" * 32, _fill) == (path, False)
