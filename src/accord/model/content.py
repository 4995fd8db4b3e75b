"""Content of answers, prompts and resources: images, audio, links, embedded resources, messages."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from accord.errors import ContractError
from accord.model.values import known
from accord.revisions import Revision

Role = Literal["user", "assistant"]


class Annotations(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """For whom something is, how much it matters from 0 to 1, and when it changed (ISO 8601)."""

    audience: Sequence[Role] | None = None
    priority: float | None = None
    last_modified: str | None = None


class Icon(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A picture that stands for a server, a tool, a prompt or a resource: where it is."""

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] | None = None
    theme: Literal["light", "dark"] | None = None


class Image(msgspec.Struct, frozen=True):
    """A picture, as its bytes and its media type (`image/png`)."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None


class Audio(msgspec.Struct, frozen=True):
    """A sound, as its bytes and its media type (`audio/wav`)."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None


class Link(msgspec.Struct, frozen=True):
    """A pointer to a resource that the client may read: what it is called and where it is."""

    uri: str
    name: str
    mime_type: str | None = None
    description: str | None = None
    annotations: Annotations | None = None


class Embedded(msgspec.Struct, frozen=True):
    """A resource sent along whole: `content` is its text, or its bytes."""

    uri: str
    content: str | bytes
    mime_type: str | None = None
    annotations: Annotations | None = None


Block = Image | Audio | Link | Embedded


class Message(msgspec.Struct, frozen=True):
    """Something that is said to a model: text or a block, by the user or by the assistant."""

    content: str | Block
    role: Role = "user"


MessageContent = str | Block | Message
"""What a function may give for a message: text and blocks are messages of the user."""


def messages_of(content: MessageContent | Sequence[MessageContent]) -> list[Message]:
    """Return one or several contents as messages; those without a role are the user's."""
    several = content if isinstance(content, list | tuple) else [content]
    return [each if isinstance(each, Message) else _by_user(each) for each in several]


def _by_user(content: object) -> Message:
    if not isinstance(content, str | Block):
        raise ContractError(
            f"a message is text, a block or a Message, not {type(content).__name__}"
        )
    return Message(content)


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def block(content: Block | str, revision: Revision) -> dict[str, Any]:
    """A content block; where the revision has none of its kind, a text that says what it was."""
    if isinstance(content, str):
        return text(content)
    worded = _block(content, revision)
    if content.annotations is not None:
        worded["annotations"] = content.annotations
    return worded


def _block(content: Block, revision: Revision) -> dict[str, Any]:
    match content:
        case Image(data, mime_type):
            return {"type": "image", "data": b64encode(data).decode(), "mimeType": mime_type}
        case Audio(data, mime_type) if revision.audio:
            return {"type": "audio", "data": b64encode(data).decode(), "mimeType": mime_type}
        case Audio(data, mime_type):
            return text(f"[{mime_type}, {len(data)} bytes]")
        case Embedded():
            return {"type": "resource", "resource": contents(content)}
    if not revision.links:
        return text(content.uri)
    return known(
        type="resource_link",
        uri=content.uri,
        name=content.name,
        mimeType=content.mime_type,
        description=content.description,
    )


def contents(resource: Embedded) -> dict[str, Any]:
    """What a resource holds: text as it is, bytes in Base64."""
    body = resource.content
    held = {"text": body} if isinstance(body, str) else {"blob": b64encode(body).decode()}
    return known(uri=resource.uri, mimeType=resource.mime_type) | held


def message(said: Message, revision: Revision) -> dict[str, Any]:
    """What is said to a model."""
    return {"role": said.role, "content": block(said.content, revision)}
