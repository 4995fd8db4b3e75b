"""Resources: content under a URI or a URI template (RFC 6570).

In a template `{name}` matches one path segment, `{+name}` any number of them, `{?a,b}` query
parameters. A value with path traversal (`..`, an encoded slash, a leading slash) does not match, so
a variable can safely name a file.

Matching takes linear time for any URI: if two variables share a segment, the first match is the
shortest, and there is at most one `{+name}`.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

import msgspec

from accord.errors import ContractError
from accord.model.changes import Watch
from accord.model.completion import Completer
from accord.model.content import Annotations, Embedded, Icon, contents
from accord.model.tool import Bound, Dependencies, Foreign, normalize_scopes, tags_of
from accord.model.values import WireResult, as_json

TEXT: Final = "text/plain"
BYTES: Final = "application/octet-stream"
JSON: Final = "application/json"

_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_NAMES: Final = re.compile(r"(?P<kind>[+?]?)(?P<names>\w+(?:,\w+)*)")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s\x00-\x1f]+")
_SLASH: Final = re.compile(r"[/\\]")
_HIDDEN: Final = frozenset("/\\\0")
_MAX_URI: Final = 8_192  # characters; a longer URI does not match


class Template:
    """A URI or a URI template; one that `is_foreign` may have any form of expression."""

    _is_foreign = False

    def __init__(self, template: str, *, is_foreign: bool = False) -> None:
        self.text = template
        self.path_names: list[str] = []
        self.query_names: list[str] = []
        self._many: str | None = None
        if is_foreign:
            self._pattern = re.compile(self._foreign_pattern(template))
            return
        pattern = "".join(self._patterns(template))
        if not _URI.fullmatch(_EXPRESSION.sub("x", template)):
            raise ContractError(f"{template!r} is not a URI; it needs a scheme, a colon and a path")
        names = [*self.path_names, *self.query_names]
        if len(names) != len(set(names)):
            raise ContractError(f"{template!r} names a variable twice")
        self._pattern = re.compile(pattern)

    def filled(self, found: Mapping[str, str]) -> str:
        """Return the URI with these parts in place of the expressions; see `match`."""
        first, *others = _EXPRESSION.split(self.text)
        parts = [f"{found.get(f'e{at}', '')}{each}" for at, each in enumerate(others[1::2])]
        return first + "".join(parts)

    @property
    def is_static(self) -> bool:
        """True if it has no variables."""
        return not self.path_names and not self.query_names

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables of a URI that matches, else None."""
        if self.is_static:
            return {} if uri == self.text else None
        if self._is_foreign:
            found = self._pattern.fullmatch(uri) if len(uri) <= _MAX_URI else None
            return None if found is None else found.groupdict()
        from urllib.parse import parse_qsl, unquote  # not at import: servers start faster

        if len(uri) > _MAX_URI:
            return None
        path, mark, query = uri.partition("?") if self.query_names else (uri, "", "")
        found = self._pattern.fullmatch(path)
        if found is None:
            return None
        values = {name: unquote(value) for name, value in found.groupdict().items()}
        query_values = dict(parse_qsl(query, keep_blank_values=True)) if mark else {}
        values |= {name: query_values[name] for name in self.query_names if name in query_values}
        return values if all(self._is_inside(*each) for each in values.items()) else None

    def _foreign_pattern(self, template: str) -> str:
        """Return a pattern of the literals; what is between them are the groups `e0`, `e1`…

        The server of the template decodes and checks it.
        """
        self._is_foreign = True
        first, *others = _EXPRESSION.split(template)
        pattern = re.escape(first)
        for at, (expression, literal) in enumerate(zip(others[::2], others[1::2], strict=True)):
            names = [each.rstrip("*").partition(":")[0] for each in expression.split(",")]
            names[0] = names[0].lstrip("+#./;?&")
            self.path_names += [name for name in names if name not in self.path_names]
            group = f"(?P<e{at}>.*?)" if literal else f"(?P<e{at}>.*)"
            pattern += f"(?>{group}{re.escape(literal)})"
        return pattern

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


class Listed(NamedTuple):
    """A resource of a template that exists now."""

    uri: str
    name: str
    description: str = ""


Listing = Callable[[], Awaitable[Sequence[Listed]]]


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One resource, or all resources of a template.

    `bind` and `invoke` as in Tool; `bind` takes the template's variables as text. `invoke` returns
    the content: text, bytes, a JSON value, or one or several `Embedded`.
    """

    uri: str
    name: str
    bind: Callable[[bytes], Bound]
    invoke: Callable[[Any, Any], Any]
    is_async: bool
    wants_context: bool = False
    dependencies: Dependencies | None = None
    title: str | None = None
    description: str = ""
    mime_type: str | None = None
    size: int | None = None
    icons: Sequence[Icon] = ()
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None
    tags: Collection[str] = frozenset()
    enabled: bool = True
    scopes: Sequence[str] = ()
    """Scopes that a verified caller needs to use it."""
    hidden: bool = False
    """True if lists leave it out for callers that lack its scopes."""
    choices: Mapping[str, Sequence[str]] = {}
    """All values of a variable, if they are known."""
    completers: Mapping[str, Completer] = {}
    """Completers of variables whose values the source finds."""
    listing: Listing | None = None
    """Returns the resources of a template that exist now, for `resources/list`."""
    watched: bool = False
    """True if clients can subscribe to it: see `Server.updated`."""
    on_watch: Callable[[Mapping[str, str], Watch], object] | None = None
    """Called with the template's variables when a client has subscribed to it."""
    fresh_for: float = 0.0
    """Seconds for which a client may cache the content."""
    is_public: bool = False
    """True if the content is the same for all callers, so that caches may share it."""
    template: Template | None = None
    foreign: Foreign | None = None
    """Its entry, if it is a resource of another server; its template may have any form."""

    def __post_init__(self) -> None:
        if self.tags:
            tags = tags_of(self.tags, f"resource {self.uri}")
            msgspec.structs.force_setattr(self, "tags", tags)
        normalize_scopes(self, f"resource {self.uri}")
        if not self.name:
            raise ContractError(f"the name of the resource {self.uri} must not be empty")
        if not 0 <= self.fresh_for < inf:
            raise ContractError("fresh_for must be 0 or more seconds")
        template = Template(self.uri, is_foreign=self.foreign is not None)
        msgspec.structs.force_setattr(self, "template", template)

    @property
    def is_static(self) -> bool:
        """True if it has one URI, not a template."""
        return self._template.is_static

    @property
    def _template(self) -> Template:
        assert self.template is not None
        return self.template

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables of a URI that matches, else None."""
        return self._template.match(uri)

    @property
    def variables(self) -> list[str]:
        """Names of the template's variables."""
        return [*self._template.path_names, *self._template.query_names]

    def to_wire(self, content: Any, uri: str) -> dict[str, Any]:
        """Return the result of `resources/read`."""
        if isinstance(content, WireResult):
            return dict(content.members)
        several = content if _are_embedded(content) else [content]
        return {"contents": [contents(self._embedded(each, uri)) for each in several]}

    def _embedded(self, content: Any, uri: str) -> Embedded:
        if isinstance(content, Embedded):
            return content
        if isinstance(content, str):
            return Embedded(uri, content, self.mime_type or TEXT)
        if isinstance(content, bytes | bytearray | memoryview):
            return Embedded(uri, bytes(content), self.mime_type or BYTES)
        json = msgspec.json.encode(as_json(content, f"the resource {uri}")).decode()
        return Embedded(uri, json, self.mime_type or JSON)


def _are_embedded(content: Any) -> bool:
    if not isinstance(content, list | tuple) or not content:
        return False
    return all(isinstance(each, Embedded) for each in content)
