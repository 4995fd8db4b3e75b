"""Content blocks, as each revision words them."""

from base64 import b64encode
from typing import Any

from accord.blocks import Audio, Block, Embedded, Image, Message
from accord.revisions import Revision
from accord.values import known


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
