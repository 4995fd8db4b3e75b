"""The result of the reader: a Response with its origin, confidence and findings; its JSON."""

import json
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeVar, overload

import msgspec

from accord.model.answer import Answer, Notice, Page, Problem
from accord.model.limits import DEFAULT_MAX_BYTES
from accord.model.response import Response

T = TypeVar("T")

Confidence = Literal["certain", "likely", "guess"]
LEVELS: Final[tuple[Confidence, ...]] = ("certain", "likely", "guess")
LEVEL: Final = {name: level for level, name in enumerate(LEVELS)}
_encode = msgspec.json.Encoder().encode


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A reply in the generic shape, with the evidence for it; `raw` is the unchanged input."""

    response: Response
    value: Any
    """The value that the tool returned, before it became a list or an object in `response`."""
    page: Page | None = None
    warnings: Sequence[Notice] = ()
    is_partial: bool = False
    is_truncated: bool = False
    origin: str
    """Where the value was found: `structuredContent`, or `content[0].text: JSON after prose`."""
    confidence: Confidence
    findings: Sequence[str] = ()
    """Oddities, such as an `isError` that contradicts the payload."""
    rules: Sequence[str] = ()
    """The names of the rules that fired, in order."""
    raw: Any

    @property
    def is_failure(self) -> bool:
        """True if the call failed."""
        return self.response.response_type == "error"

    def to_answer(self) -> Answer[Any] | Problem:
        """Return the reply as an Answer, or as a Problem if the call failed.

        The data is `value`; for a list that was found in text, its items. Values that JSON does
        not have are converted as in `response.to_dict()`.
        """
        from accord.server.readings import to_answer

        return to_answer(self)

    @overload
    def to_result(
        self,
        profile: str = ...,
        revision: str | None = ...,
        *,
        tool: str | None = ...,
        max_bytes: int = ...,
    ) -> dict[str, Any]: ...

    @overload
    def to_result(
        self,
        profile: str = ...,
        revision: str | None = ...,
        *,
        tool: str | None = ...,
        max_bytes: int = ...,
        as_type: type[T],
    ) -> T: ...

    def to_result(
        self,
        profile: str = "plain",
        revision: str | None = None,
        *,
        tool: str | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        as_type: Any = None,
    ) -> Any:
        """Return the reply as a tool result in a profile, for a revision: the newest by default.

        Images, audio, links and resources of the reply are kept, as are its `_meta` and unknown
        members. `tool` is the name in results that have one; `max_bytes` limits text and
        structure as in `accord.render`, not the bytes of media. `as_type` is the class of the
        official SDK to return instead of a dict, `mcp.types.CallToolResult` of either major
        version; the revision is then 2025-11-25 by default, which both hold.
        """
        from accord.server.readings import to_result

        return to_result(self, profile, revision, tool=tool, max_bytes=max_bytes, as_type=as_type)


class Notes:
    """Findings, rules and confidence, collected while a reply is read."""

    __slots__ = ("findings", "level", "rules")

    def __init__(self) -> None:
        self.findings: list[str] = []
        self.rules: list[str] = []
        self.level: int = 0

    def finding(self, sentence: str) -> None:
        """Add a finding."""
        if sentence not in self.findings:
            self.findings.append(sentence)

    def rule(self, name: str, confidence: Confidence = "certain") -> None:
        """Add a rule that fired; the confidence of a reading is the lowest of its rules."""
        self.rules.append(name)
        if confidence != "certain":
            self.level = max(self.level, LEVEL[confidence])

    def rule_within(self, name: str, confidence: Confidence = "certain") -> None:
        """Add a detail of the last rule, unless its name is that of the rule."""
        if self.rules[-1] != name:
            self.rule(name, confidence)

    def adopt(self, others: "Notes") -> None:
        """Add the notes of an attempt that succeeded."""
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
        """Return a Reading with the collected notes."""
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


# As JSON


def report(reading: Reading) -> dict[str, Any]:
    """Return the response of a reading with its origin, confidence, findings and rules."""
    return {
        "response": reading.response,
        "origin": reading.origin,
        "confidence": reading.confidence,
        "findings": reading.findings,
        "rules": reading.rules,
    }


def to_json(value: Any, *, indent: int | None = None) -> bytes:
    """Encode a value as JSON, compact or indented; lone surrogates are escaped."""
    try:
        encoded = _encode(value)
    except UnicodeEncodeError:
        separators = (",", ":") if indent is None else None
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, indent=indent, separators=separators).encode()
    return encoded if indent is None else msgspec.json.format(encoded, indent=indent)
