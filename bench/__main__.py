"""`python -m bench`: measures everything, prints it, writes docs/benchmarks.md."""

import argparse
import sys

from bench.child import ROOT
from bench.contenders import ACCORD, CONTENDERS
from bench.report import render
from bench.rounds import Plan, run

PAGE = ROOT / "docs" / "benchmarks.md"
SECONDS = 240


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round with fewer calls")
    parser.add_argument(
        "--only",
        action="append",
        choices=[contender.name for contender in CONTENDERS],
        help="measure this contender only; may be repeated",
    )
    options = parser.parse_args()
    if sys.platform != "linux":
        parser.exit(2, "bench: reads CPU time and memory of its children as Linux gives them\n")
    contenders = [c for c in CONTENDERS if not options.only or c.name in options.only]
    rounds, scale = (1, 0.25) if options.quick else (3, 1.0)
    plan = Plan(contenders, rounds, scale, SECONDS)

    figures = run(plan, show_progress)
    show_progress("")
    page = render(figures, plan, "python -m bench")
    print(page)
    has_failed = not figures.failures.keys().isdisjoint({ACCORD.name, "growth"})
    if options.quick or options.only or has_failed:
        print(f"Not a complete run: {PAGE.relative_to(ROOT)} is left as it was.")
    else:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page, encoding="utf-8")
    return 1 if has_failed else 0


def show_progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
