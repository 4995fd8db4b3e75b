"""Markdown tables of the figures over HTTP."""

import statistics
from collections.abc import Sequence

from bench.contenders import (
    ACCORD_2026,
    ACCORD_SESSIONS,
    APP_2026,
    APP_SESSIONS,
    CONSTANT_2026,
    CONSTANT_SESSIONS,
    HTTP_CONTENDERS,
    SDK,
    HttpContender,
)
from bench.http_rounds import HttpFigures, HttpPlan
from bench.http_trial import CONNECTIONS, WARM_UP_SECONDS
from bench.report import number, one_line, ratio, table, verdict
from bench.sessions import CALLS, MEMORY_LIMIT_MB, SESSIONS, Sessions
from bench.sessions import CONNECTIONS as SESSION_CONNECTIONS
from bench.wire import STATELESS, Tool

SDK_SHARE = 1 / 8
CONSTANT_MULTIPLE = 1.6

NO_WRK = "Not measured: needs `wrk` (`apt-get install -y wrk` on Debian and Ubuntu)."
METHOD = """\
One process per server on 127.0.0.1, all on uvicorn with httptools and uvloop. `wrk` with one thread
repeats one call on {connections} connections: {warm_up} s of warm-up, then {seconds} s measured. Medians of {rounds};
each round starts new processes, and the servers alternate. Before and after, one call is made and its
reply checked in full; during the warm-up wrk checks that every reply has the sum. A status other than 2xx
or a failed connection fails the server.

- *Accord*: `accord serve --http`; its access log goes to /dev/null. *Accord's ASGI app*: `server.asgi()` on
  uvicorn with the settings of `accord serve` and without an access log. *Constant reply*: an ASGI app on
  the same uvicorn that reads the body and sends the bytes of Accord's reply to the same request.
- *SDK* and *FastMCP*: their high-level servers, with default settings and with `json_response` and
  `stateless_http`; in the 2026 era with `json_response`. They log warnings only.
- *CPU µs*: CPU time of the process, all threads, divided by the calls that wrk counted. *calls/s* depends on
  the load of the machine. In parentheses: the ratio to the SDK's fastest mode; *× constant*: the ratio to
  the constant reply of the same era.
- *Sessions*: all sessions are opened, then each makes {calls} calls, alternating `add` and `def add`, with the
  same ids as the others and different arguments, over {session_connections} connections. Memory is read after that."""


def http_parts(figures: HttpFigures, plan: HttpPlan) -> list[str]:
    how = METHOD.format(
        connections=CONNECTIONS,
        warm_up=WARM_UP_SECONDS,
        seconds=plan.seconds,
        rounds="one round" if plan.rounds == 1 else f"{plan.rounds} rounds",
        calls=CALLS,
        session_connections=SESSION_CONNECTIONS,
    )
    parts = ["## Calls over HTTP", http_table(figures, plan.contenders)]
    if len(targets := target_lines(figures)) > 1:
        parts += ["## Targets over HTTP", table(targets)]
    if figures.sessions is not None:
        parts += ["## Sessions over HTTP, Accord only", sessions_table(figures.sessions)]
    elif reason := figures.failures.get("sessions"):
        parts += ["## Sessions over HTTP, Accord only", f"Failed: {one_line(reason)}"]
    return [*parts, "## How HTTP was measured", how]


def cpu(figures: HttpFigures, contender: HttpContender, tool: Tool = "add") -> float | None:
    trials = figures.trials.get((contender.name, tool))
    return statistics.median(trial.cpu_us for trial in trials) if trials else None


def rate(figures: HttpFigures, contender: HttpContender, tool: Tool) -> float | None:
    trials = figures.trials.get((contender.name, tool))
    return statistics.median(trial.calls_per_second for trial in trials) if trials else None


def memory(figures: HttpFigures, contender: HttpContender) -> float | None:
    trials = figures.trials.get((contender.name, "add"))
    return statistics.median(trial.memory_mb for trial in trials) if trials else None


def fastest_sdk(figures: HttpFigures) -> tuple[HttpContender, float] | None:
    costs = [(c, cpu(figures, c)) for c in HTTP_CONTENDERS if c.over_stdio is SDK]
    measured = [(contender, cost) for contender, cost in costs if cost is not None]
    return min(measured, key=lambda entry: entry[1], default=None)


def http_table(figures: HttpFigures, contenders: Sequence[HttpContender]) -> str:
    titles = [
        "`add` CPU µs",
        "× constant",
        "`add` calls/s",
        "`def add` CPU µs",
        "`def add` calls/s",
    ]
    lines = [["server", "mode", *titles, "memory MB"]]
    sdk = fastest_sdk(figures)
    for contender in contenders:
        if reason := figures.failures.get(contender.name):
            lines.append([contender.title, contender.mode, one_line(reason), *[""] * len(titles)])
            continue
        is_stateless = contender.era == STATELESS
        constant = cpu(figures, CONSTANT_2026 if is_stateless else CONSTANT_SESSIONS)
        cost = cpu(figures, contender)
        against_sdk = f" ({ratio(cost / sdk[1])})" if cost and sdk else ""
        against_constant = f"{cost / constant:.2f}" if cost and constant else "–"
        lines.append(
            [
                contender.title,
                contender.mode,
                cell_of(cost) + against_sdk,
                against_constant,
                cell_of(rate(figures, contender, "add")),
                cell_of(cpu(figures, contender, "add_sync")),
                cell_of(rate(figures, contender, "add_sync")),
                cell_of(memory(figures, contender)),
            ]
        )
    return table(lines)


def target_lines(figures: HttpFigures) -> list[list[str]]:
    lines = [["`async def add`, CPU per call", "against", "at most", "measured", ""]]
    targets = [(APP_SESSIONS, CONSTANT_SESSIONS, CONSTANT_MULTIPLE)]
    targets.append((APP_2026, CONSTANT_2026, CONSTANT_MULTIPLE))
    if sdk := fastest_sdk(figures):
        targets += [(ours, sdk[0], SDK_SHARE) for ours in (ACCORD_SESSIONS, ACCORD_2026)]
    for ours, reference, limit in targets:
        cost, baseline = cpu(figures, ours), cpu(figures, reference)
        if cost is not None and baseline is not None:
            found = cost / baseline
            names = [f"{contender.title}, {contender.mode}" for contender in (ours, reference)]
            lines.append([*names, ratio(limit), ratio(found), verdict(found, limit)])
    return lines


def sessions_table(sessions: Sessions) -> str:
    correct = f"{sessions.replies:,} of {SESSIONS * CALLS:,}"
    return table(
        [
            [f"{SESSIONS:,} sessions, {CALLS} calls each, all with the same ids", "", ""],
            ["correct replies to their own sessions", correct, "met"],
            [
                f"memory MB, at most {MEMORY_LIMIT_MB}",
                number(sessions.memory_mb),
                verdict(sessions.memory_mb, MEMORY_LIMIT_MB),
            ],
            ["seconds, with the client on the same machine", number(sessions.seconds), ""],
        ]
    )


def cell_of(figure: float | None) -> str:
    return "–" if figure is None else number(figure)
