"""URI templates (RFC 6570), as far as they can be read backwards: from a URI to its variables.

`{name}` is one step of a path, `{+name}` any number of them, `{?a,b}` what stands in the query. A
value that would climb out of where it stands (`..`, a hidden slash) is none: nobody has to think of
it who opens a file by such a name.
"""

import re
from collections.abc import Iterator
from typing import Final

from accord.errors import ContractError

_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_NAMES: Final = re.compile(r"(?P<kind>[+?]?)(?P<names>\w+(?:,\w+)*)")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s\x00-\x1f]+")
_HIDDEN: Final = frozenset("/\\\0")


class Template:
    """A URI, or many of them by a template."""

    def __init__(self, template: str) -> None:
        self.text = template
        self.path_names: list[str] = []
        self.query_names: list[str] = []
        self._many: set[str] = set()
        pattern = "".join(self._patterns(template))
        if not _URI.fullmatch(_EXPRESSION.sub("x", template)):
            raise ContractError(f"{template!r} is no URI: a scheme, a colon and more")
        names = [*self.path_names, *self.query_names]
        if len(names) != len(set(names)):
            raise ContractError(f"{template!r} names a variable twice")
        self._pattern = re.compile(pattern)

    @property
    def is_static(self) -> bool:
        """Whether it is one URI alone."""
        return not self.path_names and not self.query_names

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI that it stands for, else None."""
        if self.is_static:
            return {} if uri == self.text else None
        from urllib.parse import parse_qsl, unquote  # a server starts without it, and faster

        path, mark, query = uri.partition("?") if self.query_names else (uri, "", "")
        found = self._pattern.fullmatch(path)
        if found is None:
            return None
        values = {name: unquote(value) for name, value in found.groupdict().items()}
        if not all(self._is_inside(name, value) for name, value in values.items()):
            return None
        asked = dict(parse_qsl(query, keep_blank_values=True)) if mark else {}
        return values | {name: asked[name] for name in self.query_names if name in asked}

    def _patterns(self, template: str) -> Iterator[str]:
        at = 0
        for expression in _EXPRESSION.finditer(template):
            literal = template[at : expression.start()]
            at = expression.end()
            yield re.escape(literal)
            yield self._pattern_of(expression[1], template)
        if self.query_names and template[at:]:
            raise ContractError(f"{template!r} goes on after its query")
        yield re.escape(template[at:])

    def _pattern_of(self, expression: str, template: str) -> str:
        said = _NAMES.fullmatch(expression)
        names = said["names"].split(",") if said else []
        if said is None or self.query_names or (said["kind"] != "?" and len(names) > 1):
            known = "{name}, {+name} and, at the end, {?a,b}"
            raise ContractError(f"{template!r} has {{{expression}}}: there are {known}")
        if said["kind"] == "?":
            self.query_names += names
            return ""
        (name,) = names
        self.path_names.append(name)
        if said["kind"] == "+":
            self._many.add(name)
            return f"(?P<{name}>[^?#]+)"
        return f"(?P<{name}>[^/?#]+)"

    def _is_inside(self, name: str, value: str) -> bool:
        if "\0" in value:
            return False
        if name in self._many:
            return not {".", ".."} & set(re.split(r"[/\\]", value))
        return value not in (".", "..") and _HIDDEN.isdisjoint(value)
