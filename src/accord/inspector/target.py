"""What the page looks at: a server of ours, or somebody else's."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from accord.inspector.reading import Report
from accord.model.answer import FieldError

Direction = Literal["sent", "received"]


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """One message as it was on the wire."""

    direction: Direction
    raw: str
    size: int
    """Its bytes."""
    is_prelude: bool = False
    """Whether it only prepares the call: the handshake."""
    is_cut: bool = False
    """Whether only its beginning is here."""

    @classmethod
    def of(cls, direction: Direction, raw: bytes, *, is_prelude: bool = False) -> "Line":
        """A message; what is no UTF-8 in it is shown as such."""
        return cls(direction, raw.decode(errors="replace"), len(raw), is_prelude)

    @classmethod
    def up_to(cls, limit: int, direction: Direction, raw: bytes) -> "Line":
        """A message of which so many bytes are shown at most."""
        text = raw[:limit].decode(errors="replace")
        return cls(direction, text, len(raw), is_cut=len(raw) > limit)


class Wish(msgspec.Struct, frozen=True):
    """How an answer is to be worded; what is left out is as the server has it."""

    profile: str | None = None
    revision: str | None = None


class Asked(msgspec.Struct, frozen=True):
    """A call that the page wants made; the arguments stay as they were typed."""

    tool: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    wish: Wish = Wish()


class Posed(msgspec.Struct, frozen=True):
    """Something that a tool asks: a person, a model, or which folders it may use."""

    key: str
    """Tells it from the others that are open."""
    method: str
    params: Any


class Said(msgspec.Struct, frozen=True):
    """What somebody answered: a result, or the error with which it is refused."""

    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: msgspec.Raw = msgspec.Raw(b"")

    @property
    def reply(self) -> dict[str, msgspec.Raw]:
        """As a member of a JSON-RPC reply."""
        return {"error": self.error} if bytes(self.error) else {"result": self.result}


class Talk(msgspec.Struct, frozen=True):
    """One call as it went so far: what was said both ways, how long it took, what it means."""

    tool: str
    arguments: msgspec.Raw
    wire: Sequence[Line]
    reply: bytes
    """The message that answered it."""
    report: Report
    """What is read in it."""
    seconds: float
    revision: str
    is_ours: bool = False
    """Whether the words are ours and were never on a wire."""
    asked: Sequence[Posed] = ()
    """What has to be answered before the call goes on."""
    omitted: int = 0
    """Messages that are left out of `wire`."""


class Target(Protocol):
    """A server to look at. What goes wrong on its side is a PeerError."""

    def about(self) -> dict[str, Any]:
        """What there is to know before anything is asked."""

    async def tools(self) -> list[dict[str, Any]]:
        """Its tools, as `tools/list` words them."""

    def schema(self, tool: str) -> dict[str, Any] | None:
        """What a tool takes, as far as that is known and makes sense."""

    async def check(self, asked: Asked) -> Sequence[FieldError]:
        """Each argument that does not fit, before anything is called."""

    async def call(self, asked: Asked) -> tuple[int, Talk]:
        """Call a tool; the number is for asking again how the answer would be worded."""

    async def answer(self, number: int, answers: Mapping[str, Said]) -> tuple[int, Talk] | None:
        """Go on with a call whose tool asked something; None if it no longer waits."""

    def leave(self, number: int) -> None:
        """End a call whose tool asked something that nobody is going to answer."""

    async def word(self, number: int, wish: Wish) -> Talk | None:
        """The same answer in other words; nothing is called. None once it is forgotten."""

    async def reconnect(self) -> None:
        """Leave the server and reach it anew; a command is ended and started again."""
