"""Steps that the commands which compile share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cutegen.cli.console import size_text
from cutegen.errors import CacheError, CutegenError, CutegenWarning

if TYPE_CHECKING:
    from cutegen.build import Artifact
    from cutegen.cache import Cache
    from cutegen.render import RenderedKernel
    from cutegen.toolchain import Toolchain

__all__ = ["compile_all"]


def compile_all(
    kernels: Sequence[RenderedKernel],
    *,
    target: str | None,
    toolchain: Toolchain,
    jobs: int | None,
    force: bool = False,
    evidence: Sequence[dict[str, str]] | None = None,
    progress: Callable[[int, int], None] | None = None,
    stand_in: bool = True,
) -> list[Artifact | CutegenError]:
    """Compile kernels side by side, each for the target that fits its arch.

    Args:
        kernels: What to compile.
        target: A real architecture, ``native``, or None: the GPU here if it runs the arch, else the arch.
        toolchain: Compilers and headers.
        jobs: Most compilers at a time.
        force: Whether to compile what is in the cache, too.
        evidence: Texts to keep beside each binary, by file name.
        progress: Told how many are done, and of how many.
        stand_in: Whether kernels may be kept only as long as this process, where the cache cannot be written.
    """
    from cutegen.build import compile_many
    from cutegen.cache import open_cache
    from cutegen.device import build_target

    _warn_of_memory(jobs, len(kernels))
    results: dict[int, Artifact | CutegenError] = {}
    groups: dict[str, list[int]] = {}
    for index, kernel in enumerate(kernels):
        try:
            groups.setdefault(build_target(kernel.arch, target), []).append(index)
        except CutegenError as exc:
            results[index] = exc
    cache = open_cache(stand_in=stand_in)
    for real, members in groups.items():
        before = len(results)

        def report(done: int, total: int, outcome: Artifact | CutegenError, before: int = before) -> None:
            if progress is not None:
                progress(before + done, len(kernels))

        chosen = [kernels[i] for i in members]
        texts = [evidence[i] for i in members] if evidence is not None else None
        build = partial(
            compile_many,
            chosen,
            target=real,
            jobs=jobs,
            progress=report,
            toolchain=toolchain,
            cache=cache,
            evidence=texts,
        )
        outcomes = build()
        stale = {o.key for o in outcomes if force and not isinstance(o, CutegenError) and o.cached}
        if stale:
            kept = {key for key in stale if not cache.store.set_aside(key)}
            again = zip(outcomes, build(), strict=True)
            outcomes = [second if _key(first) in stale else first for first, second in again]
            outcomes = [_not_replaced(cache) if _key(o) in kept else o for o in outcomes]
        results.update(zip(members, outcomes, strict=True))
    return [results[index] for index in range(len(kernels))]


def _key(outcome: Artifact | CutegenError) -> str | None:
    return None if isinstance(outcome, CutegenError) else outcome.key


def _not_replaced(cache: Cache) -> CutegenError:
    return CacheError(
        f"--force: the kernel in {cache.store.root} cannot be replaced, because the cache cannot be written; "
        "set CUTEGEN_CACHE_DIR to another"
    )


def _warn_of_memory(jobs: int | None, kernels: int) -> None:
    from cutegen import settings
    from cutegen.toolchain.process import memory_for_jobs

    asked = jobs if jobs is not None else settings.jobs()
    short = memory_for_jobs(min(asked, kernels)) if asked is not None and kernels > 1 else None
    if short is not None:
        needed, free = short
        warnings.warn(
            f"{min(asked or 1, kernels)} compilers at a time may need {size_text(needed)}, and "
            f"{size_text(free)} are free; if one is ended by SIGKILL, ask for fewer --jobs",
            CutegenWarning,
            stacklevel=2,
        )
