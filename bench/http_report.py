"""The figures over HTTP as Markdown."""

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
from bench.sessions import CALLS, MEMORY_LIMIT_MB, SESSIONS, Crowd
from bench.sessions import CONNECTIONS as SESSION_CONNECTIONS
from bench.wire import STATELESS, Tool

SDK_SHARE = 1 / 8
CONSTANT_MULTIPLE = 1.6

NO_WRK = "Left out: it needs `wrk` (`apt-get install -y wrk` on Debian and Ubuntu)."
HOW = """\
One process each on 127.0.0.1, all on uvicorn with httptools and uvloop; `wrk` with one thread repeats one
call on {connections} connections, {warm_up} s to warm up and {seconds} s measured. Medians of {rounds}, each with
fresh processes that take turns. Before and after, one call is made by hand and its reply checked in full, and
while it warms up wrk looks for the sum in every reply; a status that is no success, or a connection that fails,
fails the contender.

- *Accord*: `accord serve --http` as users run it; its line for each call goes to /dev/null. *Accord's ASGI
  app*: `server.asgi()` on uvicorn, which keeps no access log and is set up as `accord serve` does.
  *Constant reply*: on that same uvicorn, a bare ASGI app that reads the body and sends Accord's reply, always
  the same bytes, to the same request.
- *SDK* and *FastMCP*: their high-level servers, as they come and with `json_response` and `stateless_http`;
  in the 2026 era with `json_response`. They log warnings only.
- *CPU µs*: what the process clock, all threads, moved by over the calls that wrk counted. *calls/s* depends on
  what else the machine does. In parentheses: the ratio to the SDK's fastest mode, and *× constant* the ratio to
  the constant reply of the same era.
- *Sessions*: all are opened, then each makes {calls} calls, `add` and `def add` by turns, with the same ids as
  all others but numbers of its own, over {session_connections} connections; memory is the server's after that."""


def http_parts(figures: HttpFigures, plan: HttpPlan) -> list[str]:
    how = HOW.format(
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
    if figures.crowd is not None:
        parts += ["## Sessions over HTTP, Accord only", crowd_table(figures.crowd)]
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
    known = [(contender, cost) for contender, cost in costs if cost is not None]
    return min(known, key=lambda entry: entry[1], default=None)


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
                shown(cost) + against_sdk,
                against_constant,
                shown(rate(figures, contender, "add")),
                shown(cpu(figures, contender, "add_sync")),
                shown(rate(figures, contender, "add_sync")),
                shown(memory(figures, contender)),
            ]
        )
    return table(lines)


def target_lines(figures: HttpFigures) -> list[list[str]]:
    lines = [["`async def add`, CPU a call", "against", "at most", "measured", ""]]
    targets = [(APP_SESSIONS, CONSTANT_SESSIONS, CONSTANT_MULTIPLE)]
    targets.append((APP_2026, CONSTANT_2026, CONSTANT_MULTIPLE))
    if sdk := fastest_sdk(figures):
        targets += [(ours, sdk[0], SDK_SHARE) for ours in (ACCORD_SESSIONS, ACCORD_2026)]
    for ours, rival, limit in targets:
        cost, reference = cpu(figures, ours), cpu(figures, rival)
        if cost is not None and reference is not None:
            found = cost / reference
            names = [f"{contender.title}, {contender.mode}" for contender in (ours, rival)]
            lines.append([*names, ratio(limit), ratio(found), verdict(found, limit)])
    return lines


def crowd_table(crowd: Crowd) -> str:
    right = f"{crowd.answers:,} of {SESSIONS * CALLS:,}"
    return table(
        [
            [f"{SESSIONS:,} sessions, {CALLS} calls each, all with the same ids", "", ""],
            ["right answers to their own callers", right, "met"],
            [
                f"memory MB, at most {MEMORY_LIMIT_MB}",
                number(crowd.memory_mb),
                verdict(crowd.memory_mb, MEMORY_LIMIT_MB),
            ],
            ["seconds, with the client on the same machine", number(crowd.seconds), ""],
        ]
    )


def shown(figure: float | None) -> str:
    return "–" if figure is None else number(figure)
