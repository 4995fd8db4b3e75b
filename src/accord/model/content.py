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
    """Audience, priority from 0 to 1, and time of the last change (ISO 8601)."""

    audience: Sequence[Role] | None = None
    priority: float | None = None
    last_modified: str | None = None


class Icon(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An icon of a server, tool, prompt or resource, by its URL."""

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] | None = None
    theme: Literal["light", "dark"] | None = None


class Image(msgspec.Struct, frozen=True):
    """An image: bytes and media type (`image/png`)."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None


class Audio(msgspec.Struct, frozen=True):
    """Audio: bytes and media type (`audio/wav`)."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None


class Link(msgspec.Struct, frozen=True):
    """A link to a resource that the client may read."""

    uri: str
    name: str
    mime_type: str | None = None
    description: str | None = None
    annotations: Annotations | None = None


class Embedded(msgspec.Struct, frozen=True):
    """An embedded resource; `content` is its text or its bytes."""

    uri: str
    content: str | bytes
    mime_type: str | None = None
    annotations: Annotations | None = None


Block = Image | Audio | Link | Embedded


class Message(msgspec.Struct, frozen=True):
    """A message for a model: text or a content block, from the user or the assistant."""

    content: str | Block
    role: Role = "user"


MessageContent = str | Block | Message
"""A message, or the text or block of a user message."""


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


def text(content: str) -> dict[str, Any]:
    """Return a text block in wire form."""
    return {"type": "text", "text": content}


def block(content: Block | str, revision: Revision) -> dict[str, Any]:
    """Return a content block in wire form; as text if the revision lacks this kind of block."""
    if isinstance(content, str):
        return text(content)
    wire = _block(content, revision)
    if content.annotations is not None:
        wire["annotations"] = content.annotations
    return wire


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
    """Return the contents of a resource in wire form: text, or bytes in Base64."""
    body = resource.content
    data = {"text": body} if isinstance(body, str) else {"blob": b64encode(body).decode()}
    return known(uri=resource.uri, mimeType=resource.mime_type) | data


def message(message: Message, revision: Revision) -> dict[str, Any]:
    """Return a message in wire form."""
    return {"role": message.role, "content": block(message.content, revision)}
