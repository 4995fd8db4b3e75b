"""Parses `WWW-Authenticate` (RFC 9110, 11.6.1): any number of challenges, leniently."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

_MAX_HEADER: Final = 16_384  # characters; the rest is ignored
_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAM: Final = re.compile(rf"({_WORD})\s*=\s*(\"|(?!=)[^\s\",]+$)")
_SCHEME: Final = re.compile(rf"({_WORD})(?:\s+(.*))?", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


class Challenge(msgspec.Struct, frozen=True):
    """One challenge: the scheme in lower case, and its parameters by lower-case names."""

    scheme: str
    params: Mapping[str, str] = {}

    @property
    def error(self) -> str | None:
        """The error code of RFC 6750, such as `insufficient_scope`."""
        return self.params.get("error")

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that the resource requires; empty if it does not say."""
        return tuple(self.params.get("scope", "").split())

    @property
    def resource_metadata(self) -> str | None:
        """The URL of the protected resource metadata."""
        return self.params.get("resource_metadata")


def parse_challenges(headers: Iterable[str]) -> list[Challenge]:
    """Return the challenges of all `WWW-Authenticate` headers of a response, in order.

    What is not a challenge is skipped; of a repeated parameter the first counts.
    """
    return [challenge for header in headers for challenge in _parse(header[:_MAX_HEADER])]


def bearer_challenge(headers: Iterable[str]) -> Challenge | None:
    """Return the Bearer challenge; of several, the first that names the resource metadata."""
    found = [each for each in parse_challenges(headers) if each.scheme == "bearer"]
    return next((each for each in found if each.resource_metadata), found[0] if found else None)


def _parse(header: str) -> Iterator[Challenge]:
    scheme: str | None = None
    params: dict[str, str] = {}
    for element in _elements(header):
        param = _param(element)
        if param is None:
            found = _SCHEME.fullmatch(element)
            if found is None:
                continue
            if scheme is not None:
                yield Challenge(scheme, params)
            scheme, params = found[1].lower(), {}
            param = _param((found[2] or "").strip())
        if scheme is not None and param is not None:
            params.setdefault(*param)
    if scheme is not None:
        yield Challenge(scheme, params)


def _elements(header: str) -> Iterator[str]:
    """Yield what stands between the commas that are outside of quotes."""
    start, is_quoted, is_escaped = 0, False, False
    for position, character in enumerate(header):
        if is_escaped:
            is_escaped = False
        elif is_quoted and character == "\\":
            is_escaped = True
        elif character == '"':
            is_quoted = not is_quoted
        elif character == "," and not is_quoted:
            yield header[start:position].strip()
            start = position + 1
    yield header[start:].strip()


def _param(element: str) -> tuple[str, str] | None:
    """Return the name and value of `name=value` or `name="value"`."""
    found = _PARAM.match(element)
    if found is None:
        return None
    name, value = found[1].lower(), found[2]
    if value == '"':
        return name, _unquoted(element[found.end() :])
    return name, value


def _unquoted(text: str) -> str:
    """Return a quoted string, given what follows its opening quote."""
    end = 0
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    return _ESCAPE.sub(r"\1", text[:end])
