"""A resource: something that can be read, under one URI or under many by a template."""

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
    """One resource, or all that a template stands for.

    `bind` and `invoke` are as those of a Tool; what `bind` takes are the template's variables, as
    text. `invoke` gives the content: text, bytes, a JSON value, or what a resource is made of as
    one or several `Embedded`.
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
    """All that a variable can be, where that is known."""
    watched: bool = False
    """Clients may ask to be told when it changes: see `Server.updated`."""
    fresh_for: float = 0.0
    """Seconds that a client may keep what it has read."""
    is_public: bool = False
    """What is read is the same for everybody, so that caches may share it."""
    template: Template | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ContractError(f"the resource {self.uri} has a name")
        if not 0 <= self.fresh_for < inf:
            raise ContractError("fresh_for is no time: seconds, 0 or more")
        msgspec.structs.force_setattr(self, "template", Template(self.uri))

    @property
    def is_static(self) -> bool:
        """Whether it is one resource under one URI."""
        return self._template.is_static

    @property
    def _template(self) -> Template:
        assert self.template is not None
        return self.template

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI that this is the resource for, else None."""
        return self._template.match(uri)

    @property
    def variables(self) -> list[str]:
        """The names of the template's variables."""
        return [*self._template.path_names, *self._template.query_names]

    def worded(self, content: Any, uri: str) -> dict[str, Any]:
        """What `resources/read` gives."""
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
