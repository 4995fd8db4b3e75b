"""Measures all servers over HTTP in interleaved rounds."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.contenders import (
    APP_2026,
    APP_SESSIONS,
    CONSTANT_2026,
    CONSTANT_SESSIONS,
    HttpContender,
)
from bench.http_trial import Exchange, HttpTrial, first_exchange, measure_http
from bench.rounds import FAILURES
from bench.sessions import Sessions, measure_sessions
from bench.wire import Tool

HTTP_FAILURES = (*FAILURES, EOFError, ExceptionGroup, subprocess.SubprocessError)
# The server whose request and reply each constant app repeats.
SOURCES = {CONSTANT_SESSIONS.name: APP_SESSIONS, CONSTANT_2026.name: APP_2026}


@dataclass(frozen=True)
class HttpPlan:
    """Servers to measure over HTTP, and for how long."""

    contenders: Sequence[HttpContender]
    rounds: int
    seconds: int  # per wrk run


@dataclass
class HttpFigures:
    """The trials of all servers over HTTP, and the reasons of failures."""

    trials: dict[tuple[str, Tool], list[HttpTrial]] = field(default_factory=dict)
    sessions: Sessions | None = None
    failures: dict[str, str] = field(default_factory=dict)  # reason, by server or "sessions"


def run_http(plan: HttpPlan, progress: Callable[[str], None]) -> HttpFigures:
    figures = HttpFigures()
    constants: dict[str, Exchange] = {}
    for contender in plan.contenders:
        if not contender.over_stdio.is_installed:
            figures.failures[contender.name] = "not installed"
        elif contender.name in SOURCES:
            try:
                constants[contender.name] = first_exchange(SOURCES[contender.name])
            except HTTP_FAILURES as error:
                figures.failures[contender.name] = f"no reply to repeat: {reason_of(error)}"
    for number in range(plan.rounds):
        first = number % len(plan.contenders)
        for contender in (*plan.contenders[first:], *plan.contenders[:first]):
            if contender.name in figures.failures:
                continue
            progress(f"HTTP, round {number + 1} of {plan.rounds}: {contender.name}")
            try:
                trials = measure_http(contender, plan.seconds, constants.get(contender.name))
            except HTTP_FAILURES as error:
                figures.failures[contender.name] = reason_of(error)
            else:
                for tool, trial in trials.items():
                    figures.trials.setdefault((contender.name, tool), []).append(trial)
    return figures


def run_sessions(figures: HttpFigures, progress: Callable[[str], None]) -> None:
    progress("HTTP: many sessions")
    try:
        figures.sessions = measure_sessions()
    except HTTP_FAILURES as error:
        figures.failures["sessions"] = reason_of(error)


def reason_of(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
