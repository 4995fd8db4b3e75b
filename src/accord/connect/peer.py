"""A server as its client sees it."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from accord.connect.begin import Agreement, initialize
from accord.connect.dialogue import Dialogue, Params
from accord.connect.faults import SessionLost
from accord.connect.headers import Path, find_mirrored, mirror_arguments
from accord.connect.messages import Answer, Message, Reply, in_words
from accord.errors import HEADER_MISMATCH, PeerError

log = logging.getLogger("accord")

_MOST_PAGES: Final = 1_000
_MOST_BYTES: Final = 16 * 1024 * 1024  # of all pages of tools/list


class Peer:
    """Somebody's server. What it answers is given back as it came, errors too.

    A PeerError is raised where no answer comes at all. `within`, in seconds, replaces the
    connection's time limit for one request.
    """

    def __init__(self, dialogue: Dialogue, agreement: Agreement) -> None:
        self._dialogue = dialogue
        self._agreement = agreement
        self._renewing = asyncio.Lock()
        self._mirrored: dict[str, dict[Path, str]] = {}

    @property
    def revision(self) -> str:
        """The date of the MCP revision that is spoken."""
        return self._agreement.revision.date

    @property
    def server(self) -> dict[str, Any]:
        """What the server calls itself: `name`, `version` and perhaps more, or nothing."""
        return self._agreement.server

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the server says it can do."""
        return self._agreement.capabilities

    @property
    def instructions(self) -> str | None:
        """What the server says about its use."""
        return self._agreement.instructions

    @property
    def messages(self) -> Sequence[Message]:
        """The last messages both ways, as they were on the wire, and what came that is none."""
        return self._dialogue.inbox.record.messages

    @property
    def notifications(self) -> Sequence[dict[str, Any]]:
        """The last notifications that came."""
        return self._dialogue.inbox.notifications

    async def request(
        self, method: str, params: Params = None, *, within: float | None = None
    ) -> Reply:
        """Ask anything."""
        return await self._ask(method, params, within)

    async def notify(self, method: str, params: Params = None) -> None:
        """Tell something that has no answer."""
        await self._dialogue.tell(method, params, revision=self._agreement.revision)

    async def call(
        self,
        tool: str,
        arguments: Params = None,
        *,
        within: float | None = None,
        progress_token: str | int | None = None,
        answers: Params = None,
    ) -> Reply:
        """Call a tool. With a token it may tell how far it is, in notifications that have it.

        `answers` are `inputResponses` and `requestState`, for a call that is made again.
        """
        params: dict[str, Any] = {"name": tool, "arguments": arguments or {}, **(answers or {})}
        if progress_token is not None:
            params["_meta"] = {"progressToken": progress_token}
        reply = await self._call(params, within)
        if self._lacks_headers(reply):  # only the list of tools says which are wanted
            await self.tools()
            if self._mirrored.get(tool):
                return await self._call(params, within)
        return reply

    async def answer(self, identity: Any, answer: Answer) -> None:
        """Answer a request of the server's that was kept for later."""
        await self._dialogue.answer(identity, answer, self._agreement.revision)

    async def tools(self) -> list[dict[str, Any]]:
        """All tools, page by page."""
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        seen: set[str] = set()
        size = 0
        for _ in range(_MOST_PAGES):
            reply = await self._ask("tools/list", params, None)
            size += len(reply.raw)
            if size > _MOST_BYTES:
                raise PeerError(f"tools/list has more than {_MOST_BYTES} bytes")
            result = _page(reply)
            found += result["tools"]
            cursor = result.get("nextCursor")
            if cursor is None:
                return self._without_misfits(found)
            if not isinstance(cursor, str) or cursor in seen:
                raise PeerError(f"tools/list leads in a circle: {cursor!r} comes again")
            seen.add(cursor)
            params = {"cursor": cursor}
        raise PeerError(f"tools/list has more than {_MOST_PAGES} pages")

    async def _ask(
        self,
        method: str,
        params: Params,
        within: float | None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        agreement = self._agreement
        revision = agreement.revision
        try:
            return await self._dialogue.ask(
                method, params, revision=revision, within=within, headers=headers
            )
        except SessionLost:
            await self._renew(agreement)
        revision = self._agreement.revision
        return await self._dialogue.ask(method, params, revision=revision, within=within)

    async def _renew(self, lost: Agreement) -> None:
        """Begin a new session, once for all who noticed."""
        async with self._renewing:
            if self._agreement is lost:
                self._agreement = await initialize(self._dialogue, lost.revision)

    async def _call(self, params: Mapping[str, Any], within: float | None) -> Reply:
        headers = mirror_arguments(self._mirrored.get(params["name"], {}), params["arguments"])
        return await self._ask("tools/call", params, within, headers)

    def _lacks_headers(self, reply: Reply) -> bool:
        error = reply.error
        return (
            self._needs_headers and isinstance(error, dict) and error.get("code") == HEADER_MISMATCH
        )

    @property
    def _needs_headers(self) -> bool:
        return self._agreement.revision.stateless and self._dialogue.wire.has_headers

    def _without_misfits(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Over HTTP a tool is left out whose arguments cannot be repeated as headers."""
        if not self._needs_headers:
            return tools
        kept = []
        for tool in tools:
            try:
                self._mirrored[str(tool.get("name"))] = find_mirrored(tool.get("inputSchema"))
            except PeerError as error:
                log.warning("the tool %.80r is left out: %.200r", tool.get("name"), str(error))
            else:
                kept.append(tool)
        return kept


def _page(reply: Reply) -> dict[str, Any]:
    if reply.error is not None:
        raise PeerError(f"tools/list failed: {in_words(reply.error)}")
    result = reply.result
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise PeerError("tools/list gave no list of tools")
    return dict(result)
