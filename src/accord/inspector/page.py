"""The page and its API, beside whatever else is served."""

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

import msgspec

from accord.errors import ContractError, PeerError
from accord.inspector.assets import Assets
from accord.inspector.reading import Received, read_reply
from accord.inspector.tally import Tally
from accord.inspector.target import Asked, Said, Talk, Target, Wish
from accord.model.arguments import Checker
from accord.profiles import profile_named
from accord.reader.report import to_json
from accord.revisions import REVISIONS
from accord.serve.http.exchange import Exchange
from accord.serve.http.request import Refusal, refuse
from accord.serve.http.response import Response, refused

API: Final = "/inspector/api/"
TOKEN: Final = b"x-accord-token"
_FRESH: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_FORGOTTEN: Final = {"forgotten": True}
_T = TypeVar("_T")


class _Reworded(msgspec.Struct, frozen=True):
    """Which call is to be worded again, and how."""

    call: int
    wish: Wish = Wish()


class _Answers(msgspec.Struct, frozen=True):
    """What is answered to what a call asks; nothing if nobody is going to."""

    call: int
    answers: dict[str, Said] | None = None


class _Filled(msgspec.Struct, frozen=True):
    """A form that a tool asks for, as somebody filled it in."""

    schema: dict[str, Any]
    value: dict[str, Any]


class _Pasted(msgspec.Struct, frozen=True):
    """A reply that somebody has, and what was called if that is known."""

    reply: str
    tool: str | None = None


class Page:
    """Answers for `/` and what is below `/inspector/`; `token` has to come with the API's calls."""

    def __init__(
        self, target: Target, tally: Tally, *, is_open: bool, mcp_path: str | None = None
    ) -> None:
        """One that `is_open` gives its token to whoever may load it; else a link has it.

        `mcp_path` is where MCP is, for those who look for it here.
        """
        self._elsewhere = "" if mcp_path is None else f"; MCP is at {mcp_path}"
        self.token = secrets.token_urlsafe(24)
        self._target = target
        self._tally = tally
        self._assets = Assets(self.token if is_open else None)
        self._verbs: Mapping[str, Callable[[bytes], Awaitable[Any]]] = {
            "about": self._about,
            "tools": self._tools,
            "check": self._check,
            "call": self._call,
            "answer": self._go_on,
            "fit": self._fit,
            "word": self._word,
            "read": self._read,
            "counts": self._counts,
            "reconnect": self._reconnect,
        }

    def link(self, url: str) -> str:
        """Where the page is, for those who are told; what follows the # is never sent anywhere."""
        return f"{url}/#token={self.token}"

    def __call__(self, exchange: Exchange) -> Coroutine[Any, Any, Response | None] | None:
        """What answers a request, to be awaited; None if it is not for the page."""
        path = exchange.path
        if path.startswith(API):
            return self._answer(path.removeprefix(API), exchange)
        packed = b"gzip" in exchange.head.fields.get(b"accept-encoding", b"")
        found = self._assets.find(path, packed=packed)
        return None if found is None else self._give(found, exchange.method)

    async def _give(self, found: Response, method: str) -> Response:
        if method not in ("GET", "HEAD"):
            said = f"{method} is not for here{self._elsewhere}"
            return refused(refuse(405, said), allow="GET, HEAD")
        return found

    async def _answer(self, verb: str, exchange: Exchange) -> Response | None:
        refusal = self._unfit(verb, exchange)
        if refusal is not None:
            return refused(refusal, allow="POST" if refusal.status == 405 else None)
        body = exchange.read_at_once()
        if body is None:
            body = await exchange.read(asyncio.get_running_loop())
        if body is None:  # the client has left
            return None
        if isinstance(body, Refusal):
            return refused(body)
        try:
            said = await exchange.while_connected(self._verbs[verb](body))
        except PeerError as error:
            return refused(refuse(502, str(error)))
        except ContractError as error:
            return refused(refuse(400, str(error)))
        return None if said is None else Response(200, to_json(said), _FRESH)

    def _unfit(self, verb: str, exchange: Exchange) -> Refusal | None:
        given = exchange.head.fields.get(TOKEN, b"")
        if not hmac.compare_digest(given, self.token.encode()):
            return refuse(403, "The token is missing or of an earlier start")
        if verb not in self._verbs:
            return refuse(404, "Nothing is here")
        if exchange.method != "POST":
            return refuse(405, f"{exchange.method} is not for here")
        return exchange.head.unfit

    async def _about(self, body: bytes) -> dict[str, Any]:
        return self._target.about()

    async def _tools(self, body: bytes) -> dict[str, Any]:
        return {"tools": await self._target.tools()}

    async def _check(self, body: bytes) -> dict[str, Any]:
        return {"fields": await self._target.check(_asked(body))}

    async def _call(self, body: bytes) -> dict[str, Any]:
        asked = _asked(body)
        number, talk = await self._target.call(asked)
        return _told(number, talk)

    async def _go_on(self, body: bytes) -> dict[str, Any]:
        given = _decoded(body, _Answers)
        if given.answers is None:
            self._target.leave(given.call)
            return _FORGOTTEN
        went = await self._target.answer(given.call, given.answers)
        return _FORGOTTEN if went is None else _told(*went)

    async def _fit(self, body: bytes) -> dict[str, Any]:
        filled = _decoded(body, _Filled)
        try:
            return {"fields": Checker(filled.schema).errors(filled.value)}
        except ContractError:  # then the tool has to say what it wants
            return {"fields": ()}

    async def _word(self, body: bytes) -> dict[str, Any]:
        wanted = _decoded(body, _Reworded)
        _require_known(wanted.wish)
        talk = await self._target.word(wanted.call, wanted.wish)
        return _FORGOTTEN if talk is None else {"call": wanted.call, **_said(talk)}

    async def _read(self, body: bytes) -> msgspec.Raw:
        pasted = _decoded(body, _Pasted, json.loads)  # which takes halves of a character, too
        report = await read_reply(Received.from_text(pasted.reply, pasted.tool))
        return msgspec.Raw(report.json)

    async def _reconnect(self, body: bytes) -> dict[str, Any]:
        await self._target.reconnect()
        return {}

    async def _counts(self, body: bytes) -> dict[str, Any]:
        return self._tally.report()


def _asked(body: bytes) -> Asked:
    asked = _decoded(body, Asked)
    _decoded(bytes(asked.arguments), dict[str, Any])
    _require_known(asked.wish)
    return asked


def _decoded(body: bytes, kind: type[_T], loads: Callable[[bytes], Any] | None = None) -> _T:
    try:
        if loads is None:
            return msgspec.json.decode(body, type=kind)
        return msgspec.convert(loads(body), kind)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise ContractError(f"That makes no sense here: {error}") from error


def _require_known(wish: Wish) -> None:
    if wish.profile is not None:
        profile_named(wish.profile)
    if wish.revision not in (None, *REVISIONS):
        raise ContractError(f"no revision {wish.revision!r}; there are {', '.join(REVISIONS)}")


def _told(number: int, talk: Talk) -> dict[str, Any]:
    following = None if talk.asked else msgspec.Raw(talk.report.next)
    asked = msgspec.Raw(to_json(talk.asked))  # in which halves of a character may be
    return {"call": number, **_said(talk), "asked": asked, "next": following}


def _said(talk: Talk) -> dict[str, Any]:
    return {
        "tool": talk.tool,
        "ms": round(talk.seconds * 1_000, 3),
        "revision": talk.revision,
        "wire": talk.wire,
        "omitted": talk.omitted,
        "isOurs": talk.is_ours,
        "reading": msgspec.Raw(talk.report.json),
    }
