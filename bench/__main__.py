"""Run all benchmarks, print the tables, and write docs/benchmarks.md and the README's comparison."""

import argparse
import sys
from collections.abc import Callable
from compileall import compile_dir

from tools.docgen.pages import write as write_docs

from bench.auth import auth_parts
from bench.calls import ROUNDS as CALL_ROUNDS
from bench.calls import calls_parts, measure_calls
from bench.child import ROOT
from bench.contenders import ACCORD, CONTENDERS, HTTP_CONTENDERS, Contender
from bench.drf import ROUNDS as LIST_ROUNDS
from bench.drf import drf_parts, measure_drf
from bench.http_report import NO_WRK, http_parts
from bench.http_rounds import HttpPlan, run_http, run_sessions
from bench.http_trial import has_wrk
from bench.models import ROUNDS as MODEL_ROUNDS
from bench.models import measure_models, models_parts
from bench.reader import ROUNDS as READING_ROUNDS
from bench.reader import measure_reading, reading_parts
from bench.rendering import ROUNDS, measure_rendering, rendering_parts
from bench.report import one_line, render, stdio_parts
from bench.rounds import FAILURES, Plan, run_stdio
from bench.sheets import MANY, measure_sheets, sheets_parts
from bench.sheets import ROUNDS as SHEET_ROUNDS
from bench.sql import measure_sql, sql_parts
from bench.tasks import tasks_parts

PAGE = ROOT / "docs" / "benchmarks.md"
SECONDS = 240
Benchmark = Callable[[bool], list[str]]
"""Runs one benchmark, in quick mode if true, and returns its Markdown parts."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round with fewer calls")
    parser.add_argument(
        "--only-http", action="store_true", help="skip stdio and the benchmarks of Accord alone"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=[contender.name for contender in CONTENDERS],
        help="measure this server only; may be repeated",
    )
    options = parser.parse_args()
    if sys.platform != "linux":
        parser.exit(2, "bench: must run on Linux; CPU time and memory are read from /proc\n")
    contenders = [c for c in CONTENDERS if not options.only or c.name in options.only]
    for folder in ("src", "bench"):
        compile_dir(ROOT / folder, quiet=1)  # as pip does on installation

    parts: list[str] = []
    has_failed = False
    if not options.only_http:
        parts, has_failed = measure_stdio(contenders, is_quick=options.quick)
        if ACCORD in contenders:
            for title, benchmark in BENCHMARKS.items():
                more, has_failed_here = run_benchmark(title, benchmark, is_quick=options.quick)
                parts += more
                has_failed |= has_failed_here
    more_parts, has_failed_too = measure_http(contenders, is_quick=options.quick)
    has_failed |= has_failed_too
    show_progress("")
    page = render([*parts, *more_parts], "python -m bench")
    print(page)
    if options.quick or options.only or options.only_http or has_failed or not has_wrk():
        print(f"The run was not complete; {PAGE.relative_to(ROOT)} is unchanged.")
    else:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page, encoding="utf-8")
        write_docs()
    return 1 if has_failed else 0


def measure_stdio(contenders: list[Contender], *, is_quick: bool) -> tuple[list[str], bool]:
    """Return Markdown parts, and True if Accord failed."""
    rounds, scale = (1, 0.25) if is_quick else (3, 1.0)
    plan = Plan(contenders, rounds, scale, SECONDS)
    figures = run_stdio(plan, show_progress)
    has_failed = not figures.failures.keys().isdisjoint({ACCORD.name, "growth"})
    return stdio_parts(figures, plan), has_failed


def run_benchmark(title: str, benchmark: Benchmark, *, is_quick: bool) -> tuple[list[str], bool]:
    """Return Markdown parts, and True if Accord failed."""
    show_progress(title)
    try:
        return benchmark(is_quick), False
    except FAILURES as error:
        return [f"## {title}", f"Failed: {one_line(str(error))}"], True


def run_rendering(is_quick: bool) -> list[str]:
    rounds = ROUNDS // 5 if is_quick else ROUNDS
    return rendering_parts(measure_rendering(rounds), rounds)


def run_reading(is_quick: bool) -> list[str]:
    rounds = READING_ROUNDS // 5 if is_quick else READING_ROUNDS
    return reading_parts(measure_reading(rounds), rounds)


def run_sql(is_quick: bool) -> list[str]:
    rounds = 1 if is_quick else 3
    return sql_parts(measure_sql(rounds), rounds)


def run_sheets(is_quick: bool) -> list[str]:
    rounds, many = (SHEET_ROUNDS // 5, MANY // 5) if is_quick else (SHEET_ROUNDS, MANY)
    return sheets_parts(measure_sheets(rounds, many))


def run_drf(is_quick: bool) -> list[str]:
    rounds = LIST_ROUNDS // 5 if is_quick else LIST_ROUNDS
    return drf_parts(measure_drf(rounds), rounds)


def run_calls(is_quick: bool) -> list[str]:
    rounds = CALL_ROUNDS // 5 if is_quick else CALL_ROUNDS
    return calls_parts(measure_calls(rounds), rounds)


def run_models(is_quick: bool) -> list[str]:
    rounds = MODEL_ROUNDS // 5 if is_quick else MODEL_ROUNDS
    return models_parts(measure_models(rounds), rounds)


BENCHMARKS: dict[str, Benchmark] = {
    "Middleware and dependencies": run_calls,
    "pydantic models": run_models,
    "Rendering, Accord only": run_rendering,
    "Reading, Accord only": run_reading,
    "SQL queries": run_sql,
    "Character sheets": run_sheets,
    "A Django REST framework list": run_drf,
    "Authorization": auth_parts,
    "Stores and tasks": tasks_parts,
}


def measure_http(contenders: list[Contender], *, is_quick: bool) -> tuple[list[str], bool]:
    """Return Markdown parts, and True if Accord failed."""
    chosen = [contender for contender in HTTP_CONTENDERS if contender.over_stdio in contenders]
    if not chosen:
        return [], False
    if not has_wrk():
        return ["## Calls over HTTP", NO_WRK], False
    rounds, seconds = (1, 1) if is_quick else (3, 3)
    plan = HttpPlan(chosen, rounds, seconds)
    figures = run_http(plan, show_progress)
    if ACCORD in contenders:
        run_sessions(figures, show_progress)
    ours = {contender.name for contender in chosen if contender.over_stdio is ACCORD}
    return http_parts(figures, plan), not figures.failures.keys().isdisjoint(ours | {"sessions"})


def show_progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
