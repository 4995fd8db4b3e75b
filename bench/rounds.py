"""Measures all servers over stdio in interleaved rounds."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from bench.child import ChildError
from bench.contenders import ACCORD, CONTENDERS, LOOP, Contender
from bench.growth import Growth, measure_growth
from bench.trial import Trial, measure, split_reply
from bench.wire import ERAS, TOOLS, Era, Tool, WrongReplyError

# Errors that a broken or missing server causes; a wrong reply may not be JSON.
FAILURES = (ChildError, WrongReplyError, OSError, ValueError, KeyError, TypeError)

ConstantReplies = Mapping[tuple[Era, Tool], tuple[str, str]]


@dataclass
class Figures:
    """The trials of all servers, and the reasons of failures."""

    trials: dict[tuple[str, Era, Tool], list[Trial]] = field(default_factory=dict)
    growth: list[Growth] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # reason, by server or "growth"
    rounds: int = 0


@dataclass(frozen=True)
class Plan:
    """Servers to measure, and for how long."""

    contenders: Sequence[Contender]
    rounds: int
    scale: float  # factor for the number of calls
    seconds: float  # no round starts that would end later


def run_stdio(plan: Plan, progress: Callable[[str], None]) -> Figures:
    figures = Figures()
    started = time.perf_counter()
    for contender in plan.contenders:
        if not contender.is_installed:
            figures.failures[contender.name] = "not installed"
    replies = constant_replies() if LOOP in plan.contenders else {}
    if LOOP in plan.contenders and not replies:
        figures.failures[LOOP.name] = "no server is installed whose reply it could repeat"
    for number in range(plan.rounds):
        spent = time.perf_counter() - started
        if number and spent * (number + 1) / number > plan.seconds:
            progress(f"stopped after round {number}: the next would pass {plan.seconds:.0f} s")
            break
        run_round(plan, number, replies, figures, progress)
        figures.rounds = number + 1
    return figures


def run_round(
    plan: Plan,
    number: int,
    replies: ConstantReplies,
    figures: Figures,
    progress: Callable[[str], None],
) -> None:
    first = number % len(plan.contenders)
    order = [*plan.contenders[first:], *plan.contenders[:first]]
    for era, tool, contender in product(ERAS, TOOLS, order):
        if contender.name in figures.failures:
            continue
        progress(f"round {number + 1} of {plan.rounds}: {era} {tool} {contender.name}")
        arguments = replies[era, tool] if contender is LOOP else ()
        try:
            trial = measure(contender, era, tool, plan.scale, arguments)
        except FAILURES as error:
            figures.failures[contender.name] = f"{era} {tool}: {error}"
        else:
            figures.trials.setdefault((contender.name, era, tool), []).append(trial)
    if ACCORD in plan.contenders and not figures.failures.keys() & {ACCORD.name, "growth"}:
        progress(f"round {number + 1} of {plan.rounds}: growth")
        try:
            figures.growth.append(measure_growth())
        except FAILURES as error:
            figures.failures["growth"] = str(error)


def constant_replies() -> ConstantReplies:
    """Return the replies that the constant loop repeats: Accord's, or another server's."""
    for source in CONTENDERS:
        if source is not LOOP and source.is_installed:
            try:
                return {key: split_reply(source, *key) for key in product(ERAS, TOOLS)}
            except FAILURES:
                continue
    return {}
