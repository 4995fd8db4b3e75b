"""The figures as Markdown, the same on the terminal and in the documentation."""

import math
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import product

from bench.contenders import ACCORD, LOOP, SDK, Contender
from bench.growth import FEW_TOOLS, FEW_WAITING, MANY_TOOLS, MANY_WAITING, SPAN, SPANS, Growth
from bench.rounds import Figures, Plan
from bench.trial import Trial
from bench.wire import ERAS, Era, Tool

Metric = Callable[[Sequence[Trial]], float]
# How much of a rise counts as none: the noise of a shared machine.
GROWTH_LIMIT = 1.25
# A share of the limit that three digits may hide.
HARDLY = 0.005

HOW = """\
Every server is a child process of one driver that talks to it over real pipes. All run on the same
interpreter and offer the same three tools: `async def add`, `def add`, and `rows`, an `async def`
that builds 100 rows of six columns from one table in memory. Each trial is a fresh process, the
contenders take turns within a round, and the table has the medians of {rounds}. Every reply is
checked once the clock has stopped: each id answered once, with the right value in text and structure.

- *SDK*: the official `mcp` package. *Constant loop*: a Python loop that repeats a real reply, Accord's
  where it runs, with the request's id spliced in, one write a reply; the least a server can do.
- *CPU µs*: user and system time a call of the process, all its threads, over the calls that follow its
  first answered one ({sdk_calls:,} of `add` for the SDK and FastMCP, {accord_calls:,} for Accord,
  {loop_calls:,} for the loop). This is the figure to trust; *calls/s*, *p50* and *p99* are wall time
  and depend on what else the machine does.
- *Pipelined*: one thread writes all calls as fast as the pipe takes them, another reads the replies.
  *One at a time*: each call waits for the reply before it; for the fast ones this is mostly the price
  of putting two processes to sleep and waking them.
- *start*: from the spawn to the first answered call, the smallest of all trials of that era; Accord's
  is `accord serve`. *memory*: resident after the pipelined `add` calls.
- In parentheses: the ratio to the SDK's high-level server in the same era.

The peers run as they come, but without a banner, and log warnings only. The low-level SDK server runs
`def add` in a worker thread, as the others do by themselves."""


def render(parts: Sequence[str], command: str) -> str:
    return "\n\n".join(["# Benchmarks", f"Made by `{command}`, on {versions()}.", *parts]) + "\n"


def stdio_parts(figures: Figures, plan: Plan) -> list[str]:
    how = HOW.format(
        rounds="one round" if figures.rounds == 1 else f"{figures.rounds} rounds",
        accord_calls=ACCORD.count("add", plan.scale),
        sdk_calls=SDK.count("add", plan.scale),
        loop_calls=LOOP.count("add", plan.scale),
    )
    parts = [
        "## Calls over stdio, pipelined",
        servers_table(figures, plan.contenders, PIPELINED),
        "## Calls over stdio, one at a time",
        servers_table(figures, plan.contenders, ONE_BY_ONE),
    ]
    if has_trials(figures, ACCORD) and (has_trials(figures, SDK) or has_trials(figures, LOOP)):
        parts += ["## Targets", targets_table(figures)]
    if figures.growth:
        parts += ["## Growth, Accord only", growth_table(figures.growth)]
    elif reason := figures.failures.get("growth"):
        parts += ["## Growth, Accord only", f"Failed: {reason}"]
    return [*parts, "## How stdio was measured", how]


def versions() -> str:
    names = {"accord": "accord-mcp", "msgspec": "msgspec", "mcp": "mcp", "fastmcp": "fastmcp"}
    names |= {"uvicorn": "uvicorn", "httptools": "httptools", "uvloop": "uvloop"}
    names |= {"pikepdf": "pikepdf"}
    packages = [f"{name} {version_of(package)}" for name, package in names.items()]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return ", ".join([python, *packages, f"{os.cpu_count()} CPUs"])


def version_of(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"


# The metrics: what one number stands for the trials of all rounds.


def cpu(trials: Sequence[Trial]) -> float:
    return statistics.median(trial.cpu_us for trial in trials)


def cpu_alone(trials: Sequence[Trial]) -> float:
    return statistics.median(trial.depth_1_cpu_us for trial in trials)


def rate(trials: Sequence[Trial]) -> float:
    return statistics.median(trial.calls_per_second for trial in trials)


def start(trials: Sequence[Trial]) -> float:
    return min(trial.start_ms for trial in trials)


def memory(trials: Sequence[Trial]) -> float:
    return statistics.median(trial.memory_mb for trial in trials)


def percentile(share: float) -> Metric:
    def metric(trials: Sequence[Trial]) -> float:
        return statistics.median(
            trial.depth_1_us[int(len(trial.depth_1_us) * share)] for trial in trials
        )

    return metric


def value(
    figures: Figures, contender: Contender, era: Era, tool: Tool | None, metric: Metric
) -> float | None:
    """The metric over the trials of one tool, or of all; None where there are none."""
    trials = [
        trial
        for (name, of_era, of_tool), of_rounds in figures.trials.items()
        if name == contender.name and of_era == era and tool in (None, of_tool)
        for trial in of_rounds
    ]
    return metric(trials) if trials else None


def has_trials(figures: Figures, contender: Contender) -> bool:
    return any(name == contender.name for name, _, _ in figures.trials)


@dataclass(frozen=True)
class Column:
    title: str
    tool: Tool | None
    metric: Metric
    has_ratio: bool = False  # to the official SDK


PIPELINED = (
    Column("`add` CPU µs", "add", cpu, has_ratio=True),
    Column("`def add` CPU µs", "add_sync", cpu, has_ratio=True),
    Column("`rows` CPU µs", "rows", cpu, has_ratio=True),
    Column("`add` calls/s", "add", rate),
    Column("`def add` calls/s", "add_sync", rate),
    Column("`rows` calls/s", "rows", rate),
    Column("start ms", None, start, has_ratio=True),
    Column("memory MB", "add", memory, has_ratio=True),
)
ONE_BY_ONE = (
    Column("`add` CPU µs", "add", cpu_alone, has_ratio=True),
    Column("p50 µs", "add", percentile(0.5)),
    Column("p99 µs", "add", percentile(0.99)),
    Column("`def add` CPU µs", "add_sync", cpu_alone, has_ratio=True),
    Column("p50 µs", "add_sync", percentile(0.5)),
    Column("p99 µs", "add_sync", percentile(0.99)),
    Column("`rows` CPU µs", "rows", cpu_alone, has_ratio=True),
    Column("p50 µs", "rows", percentile(0.5)),
    Column("p99 µs", "rows", percentile(0.99)),
)


def servers_table(
    figures: Figures, contenders: Sequence[Contender], columns: Sequence[Column]
) -> str:
    lines = [["server", "era", *(column.title for column in columns)]]
    for contender in contenders:
        if has_trials(figures, contender):
            lines += [
                [contender.title, era, *(cell(figures, contender, era, c) for c in columns)]
                for era in ERAS
            ]
        if reason := figures.failures.get(contender.name):
            lines.append([contender.title, one_line(reason), *[""] * len(columns)])
    return table(lines)


def cell(figures: Figures, contender: Contender, era: Era, column: Column) -> str:
    measured = value(figures, contender, era, column.tool, column.metric)
    reference = value(figures, SDK, era, column.tool, column.metric)
    if measured is None:
        return "–"
    if reference is None or contender is SDK or not column.has_ratio:
        return number(measured)
    return f"{number(measured)} ({ratio(measured / reference)})"


@dataclass(frozen=True)
class Target:
    title: str
    tool: Tool | None
    metric: Metric
    rival: Contender
    limit: float  # the largest ratio allowed


TARGETS = (
    Target("`async def add`, CPU a call, pipelined", "add", cpu, SDK, 1 / 50),
    Target("`async def add`, CPU a call, pipelined", "add", cpu, LOOP, 7),
    Target("`def add`, CPU a call, pipelined", "add_sync", cpu, SDK, 1 / 20),
    Target("cold start", None, start, SDK, 1 / 6),
    Target("resident memory", "add", memory, SDK, 1 / 2),
)


def targets_table(figures: Figures) -> str:
    lines = [["Accord's", "era", "against", "at most", "measured", ""]]
    for target, era in product(TARGETS, ERAS):
        ours = value(figures, ACCORD, era, target.tool, target.metric)
        theirs = value(figures, target.rival, era, target.tool, target.metric)
        if ours is not None and theirs is not None:
            found, limit = ours / theirs, target.limit
            shown = [ratio(limit), ratio(found), verdict(found, limit)]
            lines.append([target.title, era, target.rival.title, *shown])
    return table(lines)


def growth_table(rounds: Sequence[Growth]) -> str:
    def median(figure: str) -> float:
        return float(statistics.median(getattr(growth, figure) for growth in rounds))

    tools = f"`add`, CPU µs a call: {FEW_TOOLS} tools, then {MANY_TOOLS:,}"
    calls = f"`add`, CPU µs a call: first {SPAN:,} calls, then the {SPANS}th {SPAN:,}"
    waiting = f"`rows`, CPU µs a call: {FEW_WAITING:,} pipelined, then {MANY_WAITING:,}"
    size = f"{median('list_mb'):.1f} MB"
    listing = f"`tools/list` of {MANY_TOOLS:,} tools ({size}), CPU ms: first, then later ones"
    lines = [["", "before", "after", "ratio", f"at most {GROWTH_LIMIT}"]]
    for title, before, after in (
        (tools, median("few_tools_us"), median("many_tools_us")),
        (calls, median("first_calls_us"), median("later_calls_us")),
        (waiting, median("few_waiting_us"), median("many_waiting_us")),
        (listing, median("first_list_ms"), median("later_list_ms")),
    ):
        found = after / before
        shown = [number(before), number(after), f"{found:.2f}", verdict(found, GROWTH_LIMIT)]
        lines.append([title, *shown])
    return table(lines)


def verdict(found: float, limit: float) -> str:
    """Whether it is met; by how much it is not, where three digits would not show that."""
    if found <= limit:
        return "met"
    excess = found / limit - 1
    near = f" by less than {math.ceil(excess * 1000) / 10} %" if excess < HARDLY else ""
    return f"**missed**{near}"


def ratio(found: float) -> str:
    """`1/70` below one, `4.6×` above."""
    return f"1/{number(1 / found)}" if found < 1 else f"{number(found)}×"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def one_line(reason: str) -> str:
    return " ".join(reason.split())[:160].replace("|", "\\|")


def table(lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns also line up as plain text."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| "
        + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        + " |"
        for line in [lines[0], rule, *lines[1:]]
    )
