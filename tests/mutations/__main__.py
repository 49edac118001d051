"""Run all mutations and write ``docs/mutations.md``: python -m tests.mutations [--page] [--only NAME...]."""

from __future__ import annotations

import argparse
import sys
import time

from tests.mutations.model import try_mutation
from tests.mutations.page import PAGE, page, read_results, row, write_results
from tests.mutations.table import MUTATIONS

_ORDERS = 20


def main() -> int:
    """1 when a mutation was not found, or one that is known not to be found was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page, from the stored results")
    parser.add_argument("--only", nargs="*", help="run these and keep the stored results of the others")
    options = parser.parse_args()
    kept = read_results()
    missed = 0
    for mutation in () if options.page else MUTATIONS:
        if options.only is not None and mutation.name not in options.only:
            continue
        begin = time.monotonic()
        outcome = try_mutation(mutation, orders=_ORDERS)
        kept[mutation.name] = row(outcome)
        write_results({m.name: kept[m.name] for m in MUTATIONS if m.name in kept})
        good = outcome.clean if mutation.unfound else bool(outcome.kind)
        missed += not good
        seconds = time.monotonic() - begin
        text = outcome.kind or ("not found, as known" if mutation.unfound else "NOT FOUND")
        if mutation.unfound and not outcome.clean:
            text = "FOUND"
        sys.stdout.write(f"{mutation.name}: {text} {outcome.line}, {seconds:.0f} s\n")
        sys.stdout.flush()
        if not good:
            sys.stdout.write("\n".join(outcome.found) + "\n")
    if all(m.name in kept for m in MUTATIONS):
        PAGE.write_text(page(MUTATIONS), encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
