"""URI templates (RFC 6570), as far as they can be read backwards: from a URI to its variables.

`{name}` is one step of a path, `{+name}` any number of them, `{?a,b}` what stands in the query. A
value that would climb out of where it stands (`..`, a hidden slash, a slash at its beginning) is
none: nobody has to think of it who opens a file by such a name.

What a URI says can be anything, and must not cost more than it is long: where two variables share a
step, the first ends at the earliest place, and there is one `{+name}` at most.
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
_LONGEST: Final = 8_192
"""The characters of a URI that is looked at."""


class Template:
    """A URI, or many of them by a template."""

    def __init__(self, template: str) -> None:
        self.text = template
        self.path_names: list[str] = []
        self.query_names: list[str] = []
        self._many: str | None = None
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

        if len(uri) > _LONGEST:
            return None
        path, mark, query = uri.partition("?") if self.query_names else (uri, "", "")
        found = self._pattern.fullmatch(path)
        if found is None:
            return None
        values = {name: unquote(value) for name, value in found.groupdict().items()}
        asked = dict(parse_qsl(query, keep_blank_values=True)) if mark else {}
        values |= {name: asked[name] for name in self.query_names if name in asked}
        return values if all(self._is_inside(*each) for each in values.items()) else None

    def _patterns(self, template: str) -> Iterator[str]:
        first, *others = _EXPRESSION.split(template)
        yield re.escape(first)
        pairs = list(zip(others[::2], others[1::2], strict=True))
        for at, (expression, literal) in enumerate(pairs):
            following = pairs[at + 1][0] if at + 1 < len(pairs) else "?"
            yield self._pattern_of(expression, literal, template, following)

    def _pattern_of(self, expression: str, literal: str, template: str, following: str) -> str:
        """What matches a variable and the text behind it, of which no more is asked than once."""
        said = _NAMES.fullmatch(expression)
        names = said["names"].split(",") if said else []
        is_known = bool(names) and all(name.isidentifier() for name in names)
        if said is None or not is_known or self.query_names or (said["kind"] != "?" and names[1:]):
            known = "{name}, {+name} and, at the end, {?a,b}"
            raise ContractError(f"{template!r} has {{{expression}}}: there are {known}")
        if said["kind"] == "?":
            self.query_names += names
            if literal:
                raise ContractError(f"{template!r} goes on after its query")
            return ""
        (name,) = names
        self.path_names.append(name)
        is_last = following.startswith("?")
        if not literal and not is_last:
            raise ContractError(f"{template!r} has nothing that tells {name!r} from what follows")
        if said["kind"] == "+":
            if self._many is not None:
                raise ContractError(f"{template!r} has two of {{+name}}; one could be any part")
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
