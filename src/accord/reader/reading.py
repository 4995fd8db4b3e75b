"""What the reader gives: a Response, and how we know it."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from accord.model.answer import Notice, Page
from accord.model.response import Response

Confidence = Literal["certain", "likely", "guess"]
LEVELS: Final[tuple[Confidence, ...]] = ("certain", "likely", "guess")
_LEVEL: Final = {name: level for level, name in enumerate(LEVELS)}


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One reply, read. Nothing is lost: `raw` is what came in."""

    response: Response
    value: Any
    """What the tool returned, before it was made a list or an object."""
    page: Page | None = None
    warnings: Sequence[Notice] = ()
    is_partial: bool = False
    is_truncated: bool = False
    origin: str
    """Where the value was found: `structuredContent`, or `content[0].text: JSON after prose`."""
    confidence: Confidence
    findings: Sequence[str] = ()
    """What was odd."""
    rules: Sequence[str] = ()
    """The rules that fired, by name, in order."""
    raw: Any

    @property
    def is_failure(self) -> bool:
        """Whether the tool could not do what was asked."""
        return self.response.response_type == "error"


class Notes:
    """What is noted down while a reply is read."""

    __slots__ = ("findings", "level", "rules")

    def __init__(self) -> None:
        self.findings: list[str] = []
        self.rules: list[str] = []
        self.level = 0

    def finding(self, sentence: str) -> None:
        """Something odd."""
        if sentence not in self.findings:
            self.findings.append(sentence)

    def rule(self, name: str, confidence: Confidence = "certain") -> None:
        """A rule that fired; the whole is as sure as its least sure rule."""
        self.rules.append(name)
        if confidence != "certain":
            self.level = max(self.level, _LEVEL[confidence])

    def rule_within(self, name: str, confidence: Confidence = "certain") -> None:
        """A part of the last rule that fired, which may be all of it and called like it."""
        if self.rules[-1] != name:
            self.rule(name, confidence)

    def adopt(self, others: "Notes") -> None:
        """What was noted down on a way that turned out to be right."""
        self.rules += others.rules
        self.findings += others.findings
        self.level = max(self.level, others.level)

    def reading(
        self,
        response: Response,
        *,
        value: Any,
        origin: str,
        raw: Any,
        page: Page | None = None,
        warnings: Sequence[Notice] = (),
        is_partial: bool = False,
        is_truncated: bool = False,
    ) -> Reading:
        """What was read, and what was noted down on the way."""
        return Reading(
            response=response,
            value=value,
            page=page,
            warnings=warnings,
            is_partial=is_partial,
            is_truncated=is_truncated,
            origin=origin,
            confidence=LEVELS[self.level],
            findings=self.findings,
            rules=self.rules,
            raw=raw,
        )
