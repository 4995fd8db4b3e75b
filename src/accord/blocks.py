"""Content beyond text that an answer can carry: images, audio, links and embedded resources."""

from collections.abc import Sequence
from typing import Literal

import msgspec

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
