"""Content beyond text that an answer can carry: images, audio, links and embedded resources."""

import msgspec


class Image(msgspec.Struct, frozen=True):
    """A picture, as its bytes and its media type (`image/png`)."""

    data: bytes
    mime_type: str


class Audio(msgspec.Struct, frozen=True):
    """A sound, as its bytes and its media type (`audio/wav`)."""

    data: bytes
    mime_type: str


class Link(msgspec.Struct, frozen=True):
    """A pointer to a resource that the client may read: what it is called and where it is."""

    uri: str
    name: str
    mime_type: str | None = None
    description: str | None = None


class Embedded(msgspec.Struct, frozen=True):
    """A resource sent along whole: `content` is its text, or its bytes."""

    uri: str
    content: str | bytes
    mime_type: str | None = None


Block = Image | Audio | Link | Embedded
