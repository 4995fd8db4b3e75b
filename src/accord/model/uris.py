"""URI templates (RFC 6570), matched against URIs to get their variables.

`{name}` matches one path segment, `{+name}` any number of them, `{?a,b}` query parameters. A value
with path traversal (`..`, an encoded slash, a leading slash) does not match, so a variable can
safely name a file.

Matching takes linear time for any URI: if two variables share a segment, the first match is the
shortest, and there is at most one `{+name}`.
"""

import re
from collections.abc import Iterator
from typing import Final

from accord.errors import ContractError

_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_NAMES: Final = re.compile(r"(?P<kind>[+?]?)(?P<names>\w+(?:,\w+)*)")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s\x00-\x1f]+")
_SLASH: Final = re.compile(r"[/\\]")
_HIDDEN: Final = frozenset("/\\\0")
_MAX_LENGTH: Final = 8_192
"""Characters; a longer URI does not match."""


class Template:
    """A URI or a URI template."""

    def __init__(self, template: str) -> None:
        self.text = template
        self.path_names: list[str] = []
        self.query_names: list[str] = []
        self._many: str | None = None
        pattern = "".join(self._patterns(template))
        if not _URI.fullmatch(_EXPRESSION.sub("x", template)):
            raise ContractError(f"{template!r} is not a URI; it needs a scheme, a colon and a path")
        names = [*self.path_names, *self.query_names]
        if len(names) != len(set(names)):
            raise ContractError(f"{template!r} names a variable twice")
        self._pattern = re.compile(pattern)

    @property
    def is_static(self) -> bool:
        """True if it has no variables."""
        return not self.path_names and not self.query_names

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables of a URI that matches, else None."""
        if self.is_static:
            return {} if uri == self.text else None
        from urllib.parse import parse_qsl, unquote  # not at import: servers start faster

        if len(uri) > _MAX_LENGTH:
            return None
        path, mark, query = uri.partition("?") if self.query_names else (uri, "", "")
        found = self._pattern.fullmatch(path)
        if found is None:
            return None
        values = {name: unquote(value) for name, value in found.groupdict().items()}
        query_values = dict(parse_qsl(query, keep_blank_values=True)) if mark else {}
        values |= {name: query_values[name] for name in self.query_names if name in query_values}
        return values if all(self._is_inside(*each) for each in values.items()) else None

    def _patterns(self, template: str) -> Iterator[str]:
        first, *others = _EXPRESSION.split(template)
        yield re.escape(first)
        pairs = list(zip(others[::2], others[1::2], strict=True))
        for at, (expression, literal) in enumerate(pairs):
            following = pairs[at + 1][0] if at + 1 < len(pairs) else "?"
            yield self._pattern_of(expression, literal, template, following)

    def _pattern_of(self, expression: str, literal: str, template: str, following: str) -> str:
        """Return the pattern of a variable and the literal that follows it."""
        parsed = _NAMES.fullmatch(expression)
        names = parsed["names"].split(",") if parsed else []
        is_valid = bool(names) and all(name.isidentifier() for name in names)
        if (
            parsed is None
            or not is_valid
            or self.query_names
            or (parsed["kind"] != "?" and names[1:])
        ):
            known = "{name}, {+name} and, at the end, {?a,b}"
            raise ContractError(f"{template!r} has {{{expression}}}: there are {known}")
        if parsed["kind"] == "?":
            self.query_names += names
            if literal:
                raise ContractError(f"{template!r} must end with its query")
            return ""
        (name,) = names
        self.path_names.append(name)
        is_last = following.startswith("?")
        if not literal and not is_last:
            raise ContractError(
                f"{template!r} needs a literal between {name!r} and the next variable"
            )
        if parsed["kind"] == "+":
            if self._many is not None:
                raise ContractError(f"{template!r} must have at most one {{+name}}")
            self._many = name
            return f"(?P<{name}>[^?#]+){re.escape(literal)}"
        if is_last:
            return f"(?P<{name}>[^/?#]+){re.escape(literal)}"
        return f"(?>(?P<{name}>[^/?#]+?){re.escape(literal)})"

    def _is_inside(self, name: str, value: str) -> bool:
        if "\0" in value:
            return False
        if name in self.path_names and name != self._many:
            return value not in (".", "..") and _HIDDEN.isdisjoint(value)
        return value[:1] not in ("/", "\\") and not {".", ".."} & set(_SLASH.split(value))
