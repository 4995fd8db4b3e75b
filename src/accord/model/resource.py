"""Resources: content under a URI or a URI template."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

import msgspec

from accord.errors import ContractError
from accord.model.content import Annotations, Embedded, Icon, contents
from accord.model.tool import Bound
from accord.model.uris import Template
from accord.model.values import as_json

TEXT: Final = "text/plain"
BYTES: Final = "application/octet-stream"
JSON: Final = "application/json"


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
    title: str | None = None
    description: str = ""
    mime_type: str | None = None
    size: int | None = None
    icons: Sequence[Icon] = ()
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None
    choices: Mapping[str, Sequence[str]] = {}
    """All values of a variable, if they are known."""
    watched: bool = False
    """True if clients can subscribe to it: see `Server.updated`."""
    fresh_for: float = 0.0
    """Seconds for which a client may cache the content."""
    is_public: bool = False
    """True if the content is the same for all callers, so that caches may share it."""
    template: Template | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ContractError(f"the name of the resource {self.uri} must not be empty")
        if not 0 <= self.fresh_for < inf:
            raise ContractError("fresh_for must be 0 or more seconds")
        msgspec.structs.force_setattr(self, "template", Template(self.uri))

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
