"""Requests of a tool to its client: elicitation, sampling, roots.

A question is data: it makes the params for a revision, and reads its own response. The transport
sends it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

import msgspec

from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.content import MessageContent, message, messages_of
from accord.model.forms import InvalidContent, form_of
from accord.model.values import known
from accord.revisions import Revision

T = TypeVar("T")
Capabilities = Mapping[str, Any]
_canonical = msgspec.json.Encoder(order="deterministic").encode
_PAGE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[!-~]+")


class Elicited(msgspec.Struct, Generic[T], frozen=True):
    """The user's response to an elicitation: `accept`, `decline` or `cancel`, and the data."""

    action: Literal["accept", "decline", "cancel"]
    data: T | None = None

    @property
    def accepted(self) -> bool:
        """True if the user accepted."""
        return self.action == "accept"


class Sampled(msgspec.Struct, frozen=True, rename="camel"):
    """The message that a model generated: its content as received, and the model's name."""

    role: Literal["user", "assistant"]
    content: dict[str, Any] | list[dict[str, Any]]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The text of all text blocks."""
        blocks = [self.content] if isinstance(self.content, dict) else self.content
        return "\n".join(str(b["text"]) for b in blocks if b.get("type") == "text" and "text" in b)


class Root(msgspec.Struct, frozen=True):
    """A folder or file that the client lets a server use."""

    uri: str
    name: str | None = None


class Question(Protocol):
    """One request to the client; the classes below implement it."""

    @property
    def method(self) -> str:
        """The method of the request."""

    def lacks(self, capabilities: Capabilities, revision: Revision) -> Mapping[str, Any] | None:
        """Return the capability that the client lacks for this request; None if it lacks none."""

    def params(self, revision: Revision) -> dict[str, Any]:
        """Return the params of the request."""

    def read(self, answer: bytes) -> Any:
        """Return the value of a response, or raise InvalidContent."""


def digest(question: Question, revision: Revision) -> str:
    """Return a digest of a question: a response is accepted for the question it belongs to."""
    from hashlib import blake2b  # slow to import, and not needed at start

    encoded = _canonical([question.method, question.params(revision)])
    return blake2b(encoded, digest_size=12).hexdigest()


class Elicit(msgspec.Struct, frozen=True):
    """Ask the user to fill in a form.

    `answer` is a type: a dataclass, a Struct, a TypedDict or a pydantic model of simple fields, or
    one such field by itself (`str`, `bool`, an Enum, `Literal`, a list of choices). It may be a
    JSON Schema as well.
    """

    method: ClassVar[str] = "elicitation/create"
    message: str
    answer: Any

    def __post_init__(self) -> None:
        form_of(self.answer)

    def lacks(self, capabilities: Capabilities, revision: Revision) -> Mapping[str, Any] | None:
        has_form = revision.titled_choices or not form_of(self.answer).has_many
        modes = capabilities.get("elicitation")
        if isinstance(modes, dict) and ("form" in modes or "url" not in modes):
            return None if revision.elicitation and has_form else {"elicitation": {"form": {}}}
        return {"elicitation": {"form": {}}}

    def params(self, revision: Revision) -> dict[str, Any]:
        schema = form_of(self.answer).schema(titled=revision.titled_choices)
        return {"message": self.message, "requestedSchema": schema}

    def read(self, answer: bytes) -> Elicited[Any]:
        response = _read(answer, _ELICITED)
        if response.action != "accept":
            return Elicited(response.action)
        return Elicited("accept", form_of(self.answer).read(bytes(response.content) or b"{}"))


class ElicitURL(msgspec.Struct, frozen=True):
    """Ask the user to open a page, for data that the client must not see: to sign in, to pay."""

    method: ClassVar[str] = "elicitation/create"
    message: str
    url: str

    def __post_init__(self) -> None:
        if not _PAGE.fullmatch(self.url):
            raise ContractError(
                f"{self.url!r} is not the URL of a page; it needs a scheme, a host and a path"
            )

    def lacks(self, capabilities: Capabilities, revision: Revision) -> Mapping[str, Any] | None:
        modes = capabilities.get("elicitation")
        can = revision.url_elicitation and isinstance(modes, dict) and "url" in modes
        return None if can else {"elicitation": {"url": {}}}

    def params(self, revision: Revision) -> dict[str, Any]:
        params = {"mode": "url", "message": self.message, "url": self.url}
        if revision.elicitation_ids:
            from secrets import token_urlsafe

            params["elicitationId"] = token_urlsafe(16)
        return params

    def read(self, answer: bytes) -> Elicited[None]:
        return Elicited(_read(answer, _ELICITED).action)


class Sample(msgspec.Struct, frozen=True):
    """Ask the client's model to continue a message or a conversation."""

    method: ClassVar[str] = "sampling/createMessage"
    messages: MessageContent | Sequence[MessageContent]
    max_tokens: int = 1_000
    system: str | None = None
    temperature: float | None = None
    stop: Sequence[str] | None = None
    preferences: Mapping[str, Any] | None = None
    """MCP's `modelPreferences`."""

    def lacks(self, capabilities: Capabilities, revision: Revision) -> Mapping[str, Any] | None:
        return None if isinstance(capabilities.get("sampling"), dict) else {"sampling": {}}

    def params(self, revision: Revision) -> dict[str, Any]:
        return known(
            messages=[message(each, revision) for each in messages_of(self.messages)],
            maxTokens=self.max_tokens,
            systemPrompt=self.system,
            temperature=self.temperature,
            stopSequences=self.stop,
            modelPreferences=self.preferences,
        )

    def read(self, answer: bytes) -> Sampled:
        return _read(answer, _SAMPLED)


class ListRoots(msgspec.Struct, frozen=True):
    """Ask for the folders and files that the client lets a server use."""

    method: ClassVar[str] = "roots/list"

    def lacks(self, capabilities: Capabilities, revision: Revision) -> Mapping[str, Any] | None:
        return None if isinstance(capabilities.get("roots"), dict) else {"roots": {}}

    def params(self, revision: Revision) -> dict[str, Any]:
        return {}

    def read(self, answer: bytes) -> list[Root]:
        return _read(answer, _ROOTS).roots


class _ElicitResult(msgspec.Struct, frozen=True):
    action: Literal["accept", "decline", "cancel"]
    content: msgspec.Raw = msgspec.Raw(b"")


class _RootsResult(msgspec.Struct, frozen=True):
    roots: list[Root]


_ELICITED: Final[Callable[[bytes], _ElicitResult]] = msgspec.json.Decoder(_ElicitResult).decode
_SAMPLED: Final[Callable[[bytes], Sampled]] = msgspec.json.Decoder(Sampled).decode
_ROOTS: Final[Callable[[bytes], _RootsResult]] = msgspec.json.Decoder(_RootsResult).decode


def _read(answer: bytes, decode: Callable[[bytes], T]) -> T:
    try:
        return decode(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).replace("`", "").partition(" - at ")[0]
        raise InvalidContent([FieldError("answer", f"is of a wrong shape: {reason}")]) from error
