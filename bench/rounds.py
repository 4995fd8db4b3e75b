"""All contenders, interleaved, round after round."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from bench.child import ChildError
from bench.contenders import ACCORD, CONTENDERS, LOOP, Contender
from bench.growth import Growth, measure_growth
from bench.trial import Trial, cut_reply, measure
from bench.wire import ERAS, TOOLS, Era, Tool, WrongReplyError

# What a server that is broken or absent can cause; a wrong reply may also be no JSON at all.
FAILURES = (ChildError, WrongReplyError, OSError, ValueError, KeyError, TypeError)

Canned = Mapping[tuple[Era, Tool], tuple[str, str]]


@dataclass
class Figures:
    trials: dict[tuple[str, Era, Tool], list[Trial]] = field(default_factory=dict)
    growth: list[Growth] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # why, by contender or "growth"
    rounds: int = 0


@dataclass(frozen=True)
class Plan:
    contenders: Sequence[Contender]
    rounds: int
    scale: float  # of the numbers of calls
    seconds: float  # no round begins that would end later


def run(plan: Plan, progress: Callable[[str], None]) -> Figures:
    figures = Figures()
    begun = time.perf_counter()
    for contender in plan.contenders:
        if not contender.is_installed:
            figures.failures[contender.name] = "not installed"
    canned = canned_replies() if LOOP in plan.contenders else {}
    if LOOP in plan.contenders and not canned:
        figures.failures[LOOP.name] = "no server is there whose reply it could repeat"
    for turn in range(plan.rounds):
        spent = time.perf_counter() - begun
        if turn and spent * (turn + 1) / turn > plan.seconds:
            progress(f"stopped after round {turn}: the next would pass {plan.seconds:.0f} s")
            break
        run_round(plan, turn, canned, figures, progress)
        figures.rounds = turn + 1
    return figures


def run_round(
    plan: Plan, turn: int, canned: Canned, figures: Figures, progress: Callable[[str], None]
) -> None:
    first = turn % len(plan.contenders)
    order = [*plan.contenders[first:], *plan.contenders[:first]]
    for era, tool, contender in product(ERAS, TOOLS, order):
        if contender.name in figures.failures:
            continue
        progress(f"round {turn + 1} of {plan.rounds}: {era} {tool} {contender.name}")
        arguments = canned[era, tool] if contender is LOOP else ()
        try:
            trial = measure(contender, era, tool, plan.scale, arguments)
        except FAILURES as error:
            figures.failures[contender.name] = f"{era} {tool}: {error}"
        else:
            figures.trials.setdefault((contender.name, era, tool), []).append(trial)
    if ACCORD in plan.contenders and not figures.failures.keys() & {ACCORD.name, "growth"}:
        progress(f"round {turn + 1} of {plan.rounds}: growth")
        try:
            figures.growth.append(measure_growth())
        except FAILURES as error:
            figures.failures["growth"] = str(error)


def canned_replies() -> Canned:
    """What the constant loop says: real replies, of Accord if it is there."""
    for source in CONTENDERS:
        if source is not LOOP and source.is_installed:
            try:
                return {key: cut_reply(source, *key) for key in product(ERAS, TOOLS)}
            except FAILURES:
                continue
    return {}
