"""`Upstream`: a foreign server, kept connected, with its lists and a session for each caller."""

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from time import monotonic
from typing import Any, Final, Literal, cast

import msgspec

from accord.client import TimedOut
from accord.client.messages import Disconnected
from accord.errors import (
    METHOD_NOT_FOUND,
    MCPError,
    PeerError,
    SignInError,
    SignInRequired,
)
from accord.gateway.faults import is_sign_in, surely_not_started
from accord.gateway.link import Link, NotConnected, open_link
from accord.gateway.questions import offered
from accord.gateway.requests import Requests
from accord.gateway.spec import OAuthClient, UpstreamSpec
from accord.gateway.tasks import supports_tasks
from accord.gateway.watches import RELEASE_SECONDS, Watches
from accord.model.answer import Problem
from accord.model.changes import KINDS, Change, ListChanged, Updated, Watch
from accord.model.context import Context
from accord.server.operation import RequestChannel

log: logging.Logger = logging.getLogger("accord")

Status = Literal["starting", "ok", "unavailable"]
Entries = Mapping[str, list[dict[str, Any]]]
"""The entries of the lists, by the member of the result that has them."""

LISTS: Final = {
    "tools": "tools/list",
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}
_ALL_CAPABILITIES: Final[Mapping[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
"""What the session for the lists offers: some servers list only tools that the client can use."""
_DELAYS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0)
"""Seconds before each attempt to start again."""
_SETTLE: Final = 0.1
"""Seconds in which several changes of a list cause one request for it."""
_MIN_POLL: Final = 10.0
"""Seconds between two requests for a list whose changes are not reported, at least."""
_MAX_POLL: Final = 3600.0
_RELOAD_FACTOR: Final = 10.0
"""Lists are read again after so many times the time that the last reload took, at least."""
_IDLE: Final = 300.0
"""Seconds without a call after which the session of a caller is closed."""
_MAX_SESSIONS: Final = 64
_GRACE: Final = 3600.0
"""Seconds for which the features of an unavailable upstream stay listed."""
_MAX_REASON: Final = 2_000
_MAX_UNANSWERED: Final = 3
"""Requests in a row without a reply after which an upstream is asked whether it answers at all."""
_PROBE_SECONDS: Final = 5.0
_SILENT: Final = "it does not answer"
_PROBES: Final = (1.0, 2.0, 4.0)
"""Seconds before each further probe; then the upstream is restarted."""
_FIRST: Final = (None, b"first")
_canonical = msgspec.json.Encoder(order="deterministic").encode

SessionKey = tuple[bytes | None, bytes]
"""The principal of a caller, and the capabilities that its session offers."""


class _SharedLock:
    """A lock, and the number of those that hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class Upstream:
    """A foreign server: connects, reads its lists, and restarts it."""

    def __init__(self, spec: UpstreamSpec) -> None:
        self.spec = spec
        self.status: Status = "starting"
        self.reason: str = ""
        """Why it is unavailable, with the end of its stderr."""
        self.entries: Entries = {}
        self.ttls: dict[str, int] = {}
        """Milliseconds for which each list is fresh, where the upstream says so."""
        self.calls: int = 0
        self.repairs: dict[str, int] = {}
        """The replies that were changed, by tool."""
        self.on_lists: Callable[[], None] = lambda: None
        self.on_update: Callable[[str], None] = lambda _: None
        self._seen = monotonic()
        """When it was last available."""
        self._offered: Mapping[str, Any] = _ALL_CAPABILITIES
        """The capabilities that the first session offers."""
        self._needs_sign_in = False
        self._reload_seconds = 0.0
        """Seconds that it took to read the lists again."""
        self._is_claimed = False
        """True once a caller without credentials uses the first session."""
        self._reset()

    def _reset(self) -> None:
        """Forget connections and calls: they belong to one run on one event loop."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._base: Link | None = None
        self._links: dict[SessionKey, Link] = {}
        self._locks: dict[SessionKey, _SharedLock] = {}
        self._changed: set[str] = set()
        self._watches = Watches(self._run)
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining: set[Link] = set()
        """Connections that have been replaced, whose calls are still open."""
        self._connected_by = self._with_auth()
        self._settled = asyncio.Event()
        self._wake = asyncio.Event()
        self.requests: Requests = Requests(self)

    def _with_auth(self) -> UpstreamSpec:
        """Return the spec with what gets the tokens for its URL."""
        spec = self.spec
        if isinstance(spec.auth, OAuthClient):
            return msgspec.structs.replace(spec, auth=spec.auth.auth())
        if spec.url and not spec.has_credentials:
            from accord.auth.sign_in import SignIn  # only URLs need it

            return msgspec.structs.replace(spec, auth=SignIn(interactive=False))
        return spec

    # Life

    def start(self) -> None:
        """Connect, and stay connected until `stop`."""
        self._reset()
        self.status = "starting"
        self._loop = asyncio.get_running_loop()
        self._run(self._maintain())
        self._run(self._close_idle())
        self._run(self._release_watches())

    async def settled(self) -> None:
        """Wait until it is available or known not to be, at most its deadline."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.spec.deadline):
                await self._settled.wait()

    async def stop(self) -> None:
        """End every call, session and process."""
        self.requests.cancel_parked()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        links = self._all_links()
        self._links.clear()
        self._draining.clear()
        self._base = None
        await asyncio.gather(*(link.close() for link in links), return_exceptions=True)

    async def retire(self) -> None:
        """Stop once the open calls have ended, at most in the time that a request may take."""
        end = monotonic() + self.spec.timeout
        while monotonic() < end and any(link.calls for link in self._all_links()):  # noqa: ASYNC110
            await asyncio.sleep(_SETTLE)
        await self.stop()

    def _all_links(self) -> list[Link]:
        base = [] if self._base is None else [self._base]
        return [*self._links.values(), *base, *self._draining]

    @property
    def revision(self) -> str | None:
        """The negotiated revision, once it was connected."""
        return None if self._base is None else self._base.peer.revision

    def count_change(self, tool: str) -> None:
        """Count a reply of a tool that was changed."""
        self.repairs[tool] = self.repairs.get(tool, 0) + 1

    def origin(self) -> tuple[str, str | None]:
        """Return its name and revision."""
        return self.spec.name, self.revision

    @property
    def server_info(self) -> Mapping[str, Any]:
        """The upstream's `serverInfo`."""
        return {} if self._base is None else self._base.peer.server

    @property
    def instructions(self) -> str | None:
        """The upstream's instructions."""
        return None if self._base is None else self._base.peer.instructions

    def describe(self) -> dict[str, Any]:
        """Return its state for the page: health, revision, what it offers, calls and repairs."""
        return {
            "status": self.status,
            "reason": self.reason if self.status == "unavailable" else "",
            "target": self.spec.described,
            "server": self.server_info,
            "revision": self.revision,
            "replies": self.spec.replies,
            "features": {key: len(self.entries.get(key, ())) for key in LISTS},
            "calls": self.calls,
            "repairs": self.repairs,
        }

    @property
    def can_complete(self) -> bool:
        """True if the upstream completes arguments; its revision may have no capability for it."""
        base = self._base
        if base is None:
            return False
        return "completions" in base.peer.capabilities or not base.revision.completions

    def supports_tasks(self, entry: Mapping[str, Any]) -> bool:
        """True if calls of a tool may become tasks."""
        return supports_tasks(self._base, entry)

    @property
    def depends_on_caller(self) -> bool:
        """True if what the upstream returns may be for the caller alone."""
        has_own = self.exchanges or bool(self.spec.forward)
        return has_own or self._base is None or not self._base.revision.stateless

    def fresh_for_ms(self, kind: str) -> int:
        """Return how long clients may keep the lists of a kind; 0 if that is not known."""
        keys = [key for key, method in LISTS.items() if method.partition("/")[0] == kind]
        known = [self.ttls.get(key, 0) for key in keys if self.entries.get(key)]
        return min(known, default=self.ttls.get(keys[0], 0)) if self.status == "ok" else 0

    @property
    def can_subscribe(self) -> bool:
        """True if the upstream reports changes of resources."""
        resources = {} if self._base is None else self._base.peer.capabilities.get("resources")
        return isinstance(resources, dict) and resources.get("subscribe") is True

    def _run(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, context=contextvars.Context())  # of no caller
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: "asyncio.Task[None]") -> None:
        """Note the end of a task; a bug in it makes the upstream unavailable."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("server %s: an error of the gateway", self.spec.name, exc_info=error)
            self._fail(error)

    async def _maintain(self) -> None:
        """Connect, read the lists and wait for the end of the connection; then again."""
        attempt = 0
        while True:
            try:
                link = await self._connect()
                attempt = 0
                while True:
                    await asyncio.shield(link.lost)
                    if self._base is None or self._base is link:
                        break
                    link = self._base  # the session of the first caller has replaced it
            except (PeerError, TimeoutError) as error:
                self._fail(error)
            await self._drop()
            self._drop_old_lists()
            delay = _DELAYS[min(attempt, len(_DELAYS) - 1)]
            attempt += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._wake.wait()
            self._wake.clear()

    async def _connect(self) -> Link:
        try:
            async with asyncio.timeout(self.spec.timeout):
                link = await open_link(
                    self._connected_by, self._offered, self._receive_change, None
                )
                self._base = link
                self.entries = await self._load(link, LISTS)
        except TimeoutError:
            raise TimedOut("start", f"it did not start within {self.spec.timeout:g} s") from None
        self.status, self.reason = "ok", ""
        self._seen = monotonic()
        self._attend(link)
        self._settled.set()
        self.on_lists()
        return link

    def _attend(self, link: Link) -> None:
        """Follow changes of the lists over the first connection, and limit its life."""
        self._watches.move(link)
        self._run(self._listen(link))
        self._run(self._poll(link))
        self._run(self._limit_life(link))

    def _fail(self, error: BaseException) -> None:
        reason = str(error)[:_MAX_REASON] or type(error).__name__
        if reason != self.reason:
            log.warning("server %s is unavailable: %.2000s", self.spec.name, reason)
        was_listed = self.status == "ok"
        if was_listed:
            self._seen = monotonic()
        self.status, self.reason = "unavailable", reason
        self._needs_sign_in = isinstance(error.__cause__ or error, SignInError)
        self._settled.set()
        if was_listed:
            self.on_lists()

    def _drop_old_lists(self) -> None:
        """Drop the last lists if it has been unavailable for long."""
        if self.entries and monotonic() - self._seen > _GRACE:
            self.entries = {}
            self.on_lists()

    async def _drop(self) -> None:
        """Close what is left of a connection that has ended."""
        base, self._base = self._base, None
        if base is not None:
            await base.close()

    async def _close_idle(self) -> None:
        """Close the sessions of callers that have not called for a while."""
        while True:
            await asyncio.sleep(_IDLE / 10)
            now = asyncio.get_running_loop().time()
            for key, link in list(self._links.items()):
                if link.is_lost or (not link.calls and now - link.used > _IDLE):
                    del self._links[key]
                    await link.close()

    async def _limit_life(self, link: Link) -> None:
        """Replace a process that has reached its lifetime; it ends after its calls."""
        if self.spec.lifetime is None:
            return
        await asyncio.wait([link.lost], timeout=self.spec.lifetime)
        if link.is_lost:
            return
        if link is self._base and not await self._renew(link):
            await _without_calls(link)
            if not link.lost.done():
                link.lost.set_result(None)  # it ends before the next one is started
            return
        for key in [key for key, each in self._links.items() if each is link]:
            del self._links[key]  # the next call opens another one
        self._draining.add(link)
        await _without_calls(link)
        self._draining.discard(link)
        await link.close()

    async def _renew(self, old: Link) -> bool:
        """Replace the first connection by a new one; False if that cannot be opened beside it."""
        async with self._lock_for(_FIRST):
            if self._base is not old:
                return True
            try:
                await self._replace_base(self._offered)
            except PeerError as error:
                log.warning("server %s: not replaced yet: %.500s", self.spec.name, error)
                return False
            return True

    async def _replace_base(self, capabilities: Mapping[str, Any]) -> Link:
        """Open a new first connection, and use it from now on."""
        old = self._base
        assert old is not None
        link = await open_link(
            self._connected_by, capabilities, self._receive_change, old.peer.revision
        )
        self._base, self._offered = link, capabilities
        if not old.lost.done():
            old.lost.set_result(None)
        self._attend(link)
        self._note_changed(LISTS)
        return link

    # Lists

    async def _load(self, link: Link, lists: Mapping[str, str]) -> Entries:
        """Return all pages of the lists that the upstream has; the old ones where that fails."""
        found = await asyncio.gather(*(self._list(link, key, lists[key]) for key in lists))
        return {**self.entries, **dict(zip(lists, found, strict=True))}

    async def _list(self, link: Link, key: str, method: str) -> list[dict[str, Any]]:
        capability = method.partition("/")[0]
        if capability not in link.peer.capabilities and key != "tools":
            return []
        self.ttls.pop(key, None)

        def note(page: Mapping[str, Any]) -> None:
            ttl = page.get("ttlMs")
            if isinstance(ttl, int) and not isinstance(ttl, bool) and ttl >= 0:
                self.ttls[key] = min(ttl, self.ttls.get(key, ttl))

        try:
            return await link.peer.entries(method, key, on_page=note)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return []
            if key == "tools" and not self.entries:
                raise
            log.warning("server %s: %.500s", self.spec.name, error)
            return self.entries.get(key, [])
        except Disconnected:
            raise
        except PeerError as error:
            if link.is_lost or (key == "tools" and not self.entries):
                raise
            log.warning("server %s: %.500s", self.spec.name, error)
            return self.entries.get(key, [])

    async def _listen(self, link: Link) -> None:
        """Subscribe to changes of the lists; a server of the handshake era reports them anyway."""
        wanted: dict[str, Any] = {}
        for kind in KINDS if link.revision.stateless else ():
            declared = link.peer.capabilities.get(kind)
            if isinstance(declared, dict) and declared.get("listChanged"):
                wanted[f"{kind}ListChanged"] = True
        if wanted:
            with contextlib.suppress(PeerError):
                await link.listen(wanted)

    async def _poll(self, link: Link) -> None:
        """Read lists again once they are not fresh any more, if changes are not reported."""
        silent = [key for key in self.ttls if not _reports_changes(link, key)]
        while silent and link is self._base and not link.is_lost:
            seconds = min(self.ttls.get(key, 0) for key in silent) / 1000
            await asyncio.sleep(min(max(seconds, _MIN_POLL), _MAX_POLL))
            if self.status == "ok" and link is self._base:
                self._note_changed(silent)

    def watch(self, uri: str, watch: Watch) -> None:
        """Let the upstream report changes of a resource while a client wants them."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(lambda: self._watches.add(uri, watch, self._base))

    async def _release_watches(self) -> None:
        """Unsubscribe from resources that no client watches any more."""
        while True:
            await asyncio.sleep(RELEASE_SECONDS)
            self._watches.release(self._base)

    def _receive_change(self, change: Change) -> None:
        if isinstance(change, Updated):
            self.on_update(change.uri)
        elif isinstance(change, ListChanged):
            kinds = (
                ["resources", "resourceTemplates"] if change.kind == "resources" else [change.kind]
            )
            self._note_changed(kinds)

    def _note_changed(self, lists: Iterable[str]) -> None:
        """Read lists again soon, with those that change meanwhile."""
        if not self._changed:
            self._run(self._reload())
        self._changed.update(lists)

    async def _reload(self) -> None:
        """Read the lists that have changed, once for changes that come together."""
        await asyncio.sleep(max(_SETTLE, _RELOAD_FACTOR * self._reload_seconds))
        changed, self._changed = self._changed, set()
        link = self._base
        if link is None:
            return
        began = monotonic()
        try:
            self.entries = await self._load(link, {key: LISTS[key] for key in changed})
        except PeerError as error:
            log.warning("server %s: %.500s", self.spec.name, error)
        else:
            self.on_lists()
        self._reload_seconds = monotonic() - began

    # Connections for requests

    def require_answering(self, link: Link) -> None:
        """Raise a Problem while an upstream answers nothing."""
        if link.next_probe is None:
            return
        seconds = max(0.1, link.next_probe - monotonic())
        raise Problem.unavailable(
            f"Server {self.spec.name!r} does not answer; it is asked again in {seconds:.1f} s",
            code="NOT_ANSWERING",
            retry_after=seconds,
        )

    async def _probe(self, link: Link) -> None:
        """Find out whether an upstream still answers; while it does not, refuse requests to it.

        After some probes without an answer it is restarted.
        """
        seconds = min(self.spec.timeout, _PROBE_SECONDS)
        with contextlib.suppress(PeerError):
            for pause in (*_PROBES, 0.0):
                if await link.answers(seconds):
                    link.unanswered, link.next_probe = 0, None
                    self._recover(link)
                    return
                link.next_probe = monotonic() + pause
                if link is self._base:
                    self._fail(TimedOut("ping", _SILENT))
                await asyncio.sleep(pause)
            if not link.lost.done():
                link.lost.set_exception(TimedOut("ping", _SILENT))

    def _recover(self, link: Link) -> None:
        """Note that an upstream answers again."""
        if link is self._base and self.status == "unavailable":
            self.status, self.reason = "ok", ""
            self._settled.set()
            self.on_lists()

    @property
    def exchanges(self) -> bool:
        return isinstance(self.spec.auth, OAuthClient) and self.spec.auth.exchange

    def report(self, link: Link, error: PeerError) -> None:
        """Note that an upstream has become unreachable, or does not answer."""
        if isinstance(error, TimedOut):
            link.unanswered += 1
            if link.unanswered == _MAX_UNANSWERED:
                self._run(self._probe(link))
            return
        is_gone = isinstance(error, Disconnected | SignInRequired)
        is_gone = is_gone or (surely_not_started(error) and not is_sign_in(error))
        if is_gone and not link.lost.done():
            link.lost.set_exception(error)

    async def link_for(self, context: Context[Any]) -> Link:
        """Return the connection for a caller; a dead upstream is tried at once."""
        base = await self.available()
        if base.revision.stateless:
            return base
        channel = cast(RequestChannel, context.channel)
        capabilities = offered(context.client.capabilities, context.client.revision)
        is_first = capabilities == self._offered or not self._is_claimed
        if channel.principal is None and is_first and not self.exchanges:
            link = await self._claimed(capabilities)
            if link is not None:
                return link
        key = channel.principal, _canonical(capabilities)
        link = self._links.get(key)
        if link is not None and not link.is_lost:
            return link
        async with self._lock_for(key):
            link = self._links.get(key)
            if link is None or link.is_lost:
                await self._make_room(key)
                link = await open_link(
                    self._connected_by,
                    capabilities,
                    self._receive_session_change,
                    base.peer.revision,
                )
                self._links[key] = link
                self._run(self._limit_life(link))
        return link

    @contextlib.asynccontextmanager
    async def _lock_for(self, key: SessionKey) -> AsyncIterator[None]:
        """Hold the lock of a session, which is kept only while it is used."""
        shared = self._locks.setdefault(key, _SharedLock())
        shared.users += 1
        try:
            async with shared.lock:
                yield
        finally:
            shared.users -= 1
            if not shared.users:
                del self._locks[key]

    async def _claimed(self, capabilities: Mapping[str, Any]) -> Link | None:
        """Return the first session for its first caller; a new one if it offers something else.

        So one process serves a caller and the lists. None if another caller was first.
        """
        async with self._lock_for(_FIRST):
            old = self._base
            if old is None or capabilities == self._offered:
                self._is_claimed = True
                return await self.available()
            if self._is_claimed:  # meanwhile
                return None
            try:
                link = await self._replace_base(capabilities)
            except NotConnected:  # some servers run once at a time
                self._offered, self._is_claimed = capabilities, True
                if not old.lost.done():
                    old.lost.set_result(None)
                return await self.available()
            self._is_claimed = True
            await old.close()
            return link

    def _receive_session_change(self, change: Change) -> None:
        """Read the lists again if the session of another caller reports a change."""
        if isinstance(change, ListChanged):
            self._receive_change(change)

    async def _make_room(self, key: SessionKey) -> None:
        lost = self._links.pop(key, None)
        if lost is not None:
            await lost.close()
        if len(self._links) < _MAX_SESSIONS:
            return
        idle = {each: link for each, link in self._links.items() if not link.calls}
        if not idle:
            raise Problem.unavailable(
                f"Server {self.spec.name!r} has {_MAX_SESSIONS} sessions in use; try again later"
            )
        oldest = min(idle, key=lambda each: idle[each].used)
        await self._links.pop(oldest).close()

    async def available(self) -> Link:
        """Return the first connection; wait for an attempt to connect if there is none."""
        base = self._base
        is_silent = base is not None and base.next_probe is not None
        if base is not None and not base.is_lost and (self.status == "ok" or is_silent):
            return base
        end = monotonic() + self.spec.timeout
        self._settled.clear()
        self._wake.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(end - monotonic()):
                await self._settled.wait()
        if self._base is None or self.status != "ok":
            if self._needs_sign_in:
                raise Problem.authentication(f"Server {self.spec.name!r}: {self._short_reason}")
            raise Problem.unavailable(
                f"Server {self.spec.name!r} is unavailable: {self._short_reason}",
                retry_after=_DELAYS[-1],
            )
        return self._base

    @property
    def _short_reason(self) -> str:
        """The reason without stderr, which is for the operator."""
        return self.reason.partition("; its stderr ends:")[0] or "it has not started yet"


def _reports_changes(link: Link, key: str) -> bool:
    """True if an upstream says that it reports changes of a list."""
    declared = link.peer.capabilities.get(LISTS[key].partition("/")[0])
    return isinstance(declared, dict) and declared.get("listChanged") is True


async def _without_calls(link: Link) -> None:
    """Wait until no call of a connection is open; one may be about to begin."""
    await asyncio.sleep(_SETTLE)
    while link.calls:  # noqa: ASYNC110 - the end of a call has no event
        await asyncio.sleep(_SETTLE)
