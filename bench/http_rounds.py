"""All contenders over HTTP, interleaved, round after round."""

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
from bench.http_trial import Asked, HttpTrial, first_asked, measure_http
from bench.rounds import FAILURES
from bench.sessions import Crowd, measure_sessions
from bench.wire import Tool

HTTP_FAILURES = (*FAILURES, EOFError, ExceptionGroup, subprocess.SubprocessError)
# Whose request and reply each constant reply repeats.
SOURCES = {CONSTANT_SESSIONS.name: APP_SESSIONS, CONSTANT_2026.name: APP_2026}


@dataclass(frozen=True)
class HttpPlan:
    contenders: Sequence[HttpContender]
    rounds: int
    seconds: int  # that wrk measures


@dataclass
class HttpFigures:
    trials: dict[tuple[str, Tool], list[HttpTrial]] = field(default_factory=dict)
    crowd: Crowd | None = None
    failures: dict[str, str] = field(default_factory=dict)  # why, by contender or "sessions"


def run_http(plan: HttpPlan, progress: Callable[[str], None]) -> HttpFigures:
    figures = HttpFigures()
    asked: dict[str, Asked] = {}
    for contender in plan.contenders:
        if not contender.over_stdio.is_installed:
            figures.failures[contender.name] = "not installed"
        elif contender.name in SOURCES:
            try:
                asked[contender.name] = first_asked(SOURCES[contender.name])
            except HTTP_FAILURES as error:
                figures.failures[contender.name] = f"no reply to repeat: {why(error)}"
    for turn in range(plan.rounds):
        first = turn % len(plan.contenders)
        for contender in (*plan.contenders[first:], *plan.contenders[:first]):
            if contender.name in figures.failures:
                continue
            progress(f"HTTP, round {turn + 1} of {plan.rounds}: {contender.name}")
            try:
                trials = measure_http(contender, plan.seconds, asked.get(contender.name))
            except HTTP_FAILURES as error:
                figures.failures[contender.name] = why(error)
            else:
                for tool, trial in trials.items():
                    figures.trials.setdefault((contender.name, tool), []).append(trial)
    return figures


def run_sessions(figures: HttpFigures, progress: Callable[[str], None]) -> None:
    progress("HTTP: many sessions")
    try:
        figures.crowd = measure_sessions()
    except HTTP_FAILURES as error:
        figures.failures["sessions"] = why(error)


def why(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
