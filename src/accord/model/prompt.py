"""Prompts: name, arguments, and a function that returns messages for a model."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from accord.errors import ContractError
from accord.model.content import Icon, MessageContent, message, messages_of
from accord.model.tool import Bound, Dependencies, Foreign, normalize_scopes, tags_of
from accord.model.values import WireResult, known
from accord.revisions import Revision


class Argument(msgspec.Struct, frozen=True):
    """An argument of a prompt; `choices` are all its values, if they are known."""

    name: str
    description: str | None = None
    required: bool = False
    choices: Sequence[str] = ()


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt; `bind` and `invoke` as in Tool, `invoke` returns messages."""

    name: str
    description: str = ""
    arguments: Sequence[Argument] = ()
    bind: Callable[[bytes], Bound]
    invoke: Callable[[Any, Any], Any]
    is_async: bool
    wants_context: bool = False
    dependencies: Dependencies | None = None
    title: str | None = None
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] | None = None
    tags: Collection[str] = frozenset()
    enabled: bool = True
    scopes: Sequence[str] = ()
    """Scopes that a verified caller needs to use it."""
    hidden: bool = False
    """True if lists leave it out for callers that lack its scopes."""
    foreign: Foreign | None = None
    """Its entry, if it is a prompt of another server."""

    def __post_init__(self) -> None:
        if self.tags:
            tags = tags_of(self.tags, f"prompt {self.name!r}")
            msgspec.structs.force_setattr(self, "tags", tags)
        normalize_scopes(self, f"prompt {self.name!r}")
        if not self.name:
            raise ContractError("the name of a prompt must not be empty")

    def to_wire(
        self,
        content: MessageContent | Sequence[MessageContent] | WireResult,
        revision: Revision,
    ) -> dict[str, Any]:
        """Return the result of `prompts/get`."""
        if isinstance(content, WireResult):
            return dict(content.members)
        return known(
            description=self.description or None,
            messages=[message(each, revision) for each in messages_of(content)],
        )
