"""`Client`: all of MCP to a server in this process, a command or a URL, in both eras."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import count
from math import inf
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, get_args

from accord.client.callbacks import CallbackQueue, OnProgress, ProgressListener
from accord.client.entries import (
    Listing,
    PromptInfo,
    PromptResult,
    ResourceInfo,
    TemplateInfo,
    ToolInfo,
    completion_of,
    contents_of,
    prompt_of,
)
from accord.client.input_requests import (
    ELICIT,
    InputHandlers,
    OnElicit,
    OnSample,
    RootLike,
    require_function,
    roots_of,
)
from accord.client.messages import Message, Reply, Response, mcp_error
from accord.client.peer import MAX_MESSAGE, Peer, Target, connect
from accord.client.session import Era, Params
from accord.client.subscription import (
    ACKNOWLEDGED,
    Listener,
    Subscription,
    change_of,
    params_of,
    subscription_id,
)
from accord.client.tasks import ClientTask, OnStatus, TaskStatus, declaring, task_in
from accord.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    ContractError,
    PeerError,
)
from accord.model.changes import KINDS, Kind
from accord.model.completion import Completion
from accord.model.content import Embedded
from accord.model.context import LEVELS, Level
from accord.protocol.messages import LogMessage
from accord.reader import Reading, read
from accord.revisions import REVISIONS

if TYPE_CHECKING:
    from accord.auth.sign_in import Auth

log: logging.Logger = logging.getLogger("accord")

_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
_DEFAULT_LEVEL: Final[Level] = "info"
_SUBSCRIBE: Final = "resources/subscribe"
_MAX_ROUNDS: Final = 32  # in which a request asks for input
_ANSWER_TIMEOUT: Final = 300.0  # seconds
_GRACE: Final = 2.0  # seconds for cancelled handlers to end
_MAX_QUESTIONS: Final = 100  # requests of the server that handlers answer at a time
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_UNABLE: Final = {"error": {"code": INTERNAL_ERROR, "message": "The client could not answer"}}
_BUSY: Final = {"error": {"code": INTERNAL_ERROR, "message": "Too many requests are open"}}


OnLog = Callable[[LogMessage], object]


class Client:
    """A client of one MCP server: a `Server` of this process, a command line or a URL.

        async with Client(server) as client:
            reading = await client.call_tool("add", {"a": 2, "b": 3})

    The API is the same in every revision. A JSON-RPC error is raised as an MCPError, a server that
    cannot be reached or does not answer in time as a PeerError. Cancelling an await cancels the
    request. Leaving the context ends everything: requests, handlers, connections, the process.
    """

    def __init__(
        self,
        target: Target,
        *,
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        roots: Sequence[RootLike] | None = None,
        on_log: OnLog | None = None,
        log_level: Level | None = None,
        on_notification: Callable[[dict[str, Any]], object] | None = None,
        timeout: float = 30.0,
        answer_timeout: float | None = _ANSWER_TIMEOUT,
        era: Era = "auto",
        revision: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: "Auth | str | None" = None,
        cwd: str | PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        max_bytes: int = MAX_MESSAGE,
    ) -> None:
        """Describe the connection; `async with` opens it.

        `on_elicit` and `on_sample` answer the server's questions, as functions or coroutine
        functions; `roots` are the folders that it may use. Each declares its capability, further
        ones are `capabilities`. `on_log` receives log messages from `log_level` on (`info`).
        `on_notification` receives every notification as decoded JSON.

        `timeout`, in seconds, is for each request, without the time that handlers take;
        `answer_timeout` is for each of these, None for no limit. The newest common `revision` is
        used unless one is given, by its date; `era` restricts it to "handshake" or "stateless".
        `headers` are for a URL, and so is `auth`: a bearer token, or what gets one: `SignIn()`,
        `ClientCredentials(…)`. `cwd` and the whole `env` are for a command. `max_bytes` limits each
        message.
        """
        require_function("on_log", on_log)
        require_function("on_notification", on_notification)
        self._handlers = InputHandlers(on_elicit, on_sample, roots, answer_timeout)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_log = None if on_log is None else CallbackQueue(on_log, self._tasks)
        self._on_notification = (
            None if on_notification is None else CallbackQueue(on_notification, self._tasks)
        )
        self._log_level = None if log_level is None else _checked_level(log_level)
        self._capabilities = {**self._handlers.capabilities, **(capabilities or {})}
        self._connect = partial(
            connect,
            target,
            headers=headers,
            auth=auth,
            timeout=timeout,
            era=era,
            revision=revision,
            cwd=cwd,
            env=env,
            on_notification=self._receive_notification,
            on_request=self._receive_request,
            capabilities=self._capabilities,
            max_bytes=max_bytes,
        )
        self._stack: AsyncExitStack | None = None
        self._peer: Peer | None = None
        self._connected = asyncio.Event()
        self._tokens = (f"accord-{number}" for number in count(1))
        self._progress: dict[str, ProgressListener] = {}
        self._questions: dict[str, asyncio.Task[None]] = {}
        self._failures: list[asyncio.Future[Exception]] = []
        self._subscriptions: list[Subscription] = []
        self._listeners: dict[int, Listener] = {}
        self._subscribed: dict[str, int] = {}

    async def __aenter__(self) -> Self:
        if self._stack is not None:
            raise ContractError("this client is connected already")
        self._stack = AsyncExitStack()
        try:
            self._peer = await self._stack.enter_async_context(self._connect())
            self._connected.set()
            if self._log_level is not None and not self._is_stateless:
                await self.set_log_level(self._log_level)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        stack, self._stack = self._stack, None
        self._peer = None
        self._connected.clear()
        tasks = [*self._questions.values(), *self._tasks]
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=_GRACE)
        finally:
            if stack is not None:
                await stack.aclose()

    # The server

    @property
    def server_info(self) -> dict[str, Any]:
        """The server's `serverInfo`: `name`, `version` and more; may be empty."""
        return self._open.server

    @property
    def capabilities(self) -> dict[str, Any]:
        """The server's capabilities."""
        return self._open.capabilities

    @property
    def instructions(self) -> str | None:
        """The server's instructions, if it has any."""
        return self._open.instructions

    @property
    def revision(self) -> str:
        """The date of the negotiated MCP revision."""
        return self._open.revision

    @property
    def messages(self) -> Sequence[Message]:
        """The most recent messages as bytes, sent and received, and data that is not one."""
        return self._open.messages

    # Requests

    async def call_tool(
        self,
        name: str,
        arguments: Params = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the request is cancelled on the wire too
        on_progress: OnProgress | None = None,
        task: bool = False,
        on_status: OnStatus | None = None,
    ) -> Reading:
        """Call a tool and read its reply: a failed tool is a Reading with `is_failure`.

        With `task`, the server may make the call a task, whose states `on_status` is given. Its end
        is waited for, however long that takes; cancelling this cancels the task.

        `Reading.raw` holds the reply as received, or as a task has it.
        """
        reply = await self.call_tool_raw(
            name, arguments, timeout=timeout, on_progress=on_progress, task=task
        )
        found = task_in(reply)
        if found is not None:
            reply = await self._finish(found, on_status)
        _result(f"calling {name}", reply)
        return read(reply.raw, name, arguments)

    async def call_tool_raw(
        self,
        name: str,
        arguments: Params = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        task: bool = False,
    ) -> Reply:
        """Call a tool and return its reply as received; a JSON-RPC error is returned as well.

        With `task`, that may be a task: continue with `client.task(reply.result["taskId"])`.
        """
        peer = self._open
        more = self.task_meta() if task else {}

        async def send(meta: dict[str, Any], answers: dict[str, Any]) -> Reply:
            sent = {**meta, **more}
            return await peer.call(name, arguments, within=timeout, meta=sent, answers=answers)

        return await self._interact(peer, "tools/call", send, on_progress)

    def task(self, task_id: str) -> ClientTask:
        """Return a task of the server by its id, of this client or of an earlier one."""
        self._require_stateless()
        return ClientTask(self, task_id)

    def task_meta(self) -> dict[str, Any]:
        """Return the `_meta` by which a request declares that this client has tasks."""
        return declaring(self._capabilities) if self._is_stateless else {}

    async def answer_questions(self, requests: Any) -> dict[str, Any]:
        """Return the answers of the handlers to requests of the server, by their keys."""
        answers = await self._answers(self._open, {"inputRequests": requests})
        found: dict[str, Any] = answers["inputResponses"]
        return found

    async def _finish(self, started: TaskStatus, on_status: OnStatus | None) -> Reply:
        """Wait for the end of a task; cancel it if this is cancelled."""
        task = self.task(started.id)
        try:
            return await task.wait(on_status)
        except asyncio.CancelledError:
            if self._peer is not None:
                with suppress(PeerError, TimeoutError):
                    async with asyncio.timeout(_GRACE):
                        await task.cancel()
            raise

    def _require_stateless(self) -> None:
        if not self._is_stateless:
            raise ContractError(f"revision {self.revision} has no tasks that this client can use")

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
    ) -> PromptResult:
        """Return the messages of a prompt."""
        params = {"name": name, "arguments": arguments or {}}
        reply = await self._input_request("prompts/get", params, timeout, on_progress)
        return prompt_of(_result(f"getting the prompt {name}", reply))

    async def read_resource(
        self,
        uri: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
    ) -> list[Embedded]:
        """Return the contents of a resource, as text or bytes."""
        reply = await self._input_request("resources/read", {"uri": uri}, timeout, on_progress)
        return contents_of(_result(f"reading {uri}", reply))

    async def complete(
        self,
        owner: str,
        argument: str,
        value: str = "",
        *,
        others: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> Completion:
        """Complete an argument of a prompt, by its name, or a variable of a URI template.

        `others` are the arguments that are known already.
        """
        reference = (
            {"type": "ref/resource", "uri": owner}
            if _URI.match(owner)
            else {"type": "ref/prompt", "name": owner}
        )
        params: dict[str, Any] = {"ref": reference, "argument": {"name": argument, "value": value}}
        if others:
            params["context"] = {"arguments": others}
        reply = await self.request("completion/complete", params, timeout=timeout)
        return completion_of(_result("completion/complete", reply))

    def list_tools(self, *, timeout: float | None = None) -> Listing[ToolInfo]:
        """Return the tools: `await` it for all of them, or iterate with `async for`."""
        return self._list("tools/list", "tools", ToolInfo.from_wire, timeout)

    def list_prompts(self, *, timeout: float | None = None) -> Listing[PromptInfo]:
        """Return the prompts; see `list_tools`."""
        return self._list("prompts/list", "prompts", PromptInfo.from_wire, timeout)

    def list_resources(self, *, timeout: float | None = None) -> Listing[ResourceInfo]:
        """Return the resources; see `list_tools`."""
        return self._list("resources/list", "resources", ResourceInfo.from_wire, timeout)

    def list_resource_templates(self, *, timeout: float | None = None) -> Listing[TemplateInfo]:
        """Return the resource templates; see `list_tools`."""
        return self._list(
            "resources/templates/list", "resourceTemplates", TemplateInfo.from_wire, timeout
        )

    async def ping(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Check that the server responds: `ping`, or `server/discover` in the stateless era."""
        method = "server/discover" if self._is_stateless else "ping"
        _result(method, await self.request(method, {}, timeout=timeout))

    async def set_log_level(self, level: Level) -> None:
        """Set the minimum level of log messages, for this connection or each further request."""
        self._log_level = _checked_level(level)
        if not self._is_stateless:
            method, params = "logging/setLevel", {"level": level}
            _result(method, await self.request(method, params))
            self._open.session_state[method, ""] = params

    async def set_roots(self, roots: Sequence[RootLike]) -> None:
        """Replace the roots; a server of the handshake era is notified."""
        if self._handlers.roots is None:
            raise ContractError("roots must be given when the client is created")
        self._handlers.roots = roots_of(roots)
        if not self._is_stateless:
            await self._open.notify("notifications/roots/list_changed")

    async def request(
        self,
        method: str,
        params: Params = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> Reply:
        """Send any request and return its reply as received, JSON-RPC errors included."""
        return await self._open.request(method, self._with_meta(params), within=timeout)

    async def notify(self, method: str, params: Params = None) -> None:
        """Send any notification."""
        await self._open.notify(method, params)

    @asynccontextmanager
    async def subscribe(
        self, *uris: str, lists: Sequence[Kind] = ()
    ) -> AsyncIterator[Subscription]:
        """Subscribe to changes of resources, and of the lists of tools, prompts or resources.

            async with client.subscribe("shop://menu", lists=["tools"]) as changes:
                async for change in changes: ...

        Yields `Updated(uri)` and `ListChanged(kind)`.
        """
        if not uris and not lists:
            raise ContractError("subscribe needs a URI or a list: tools, prompts or resources")
        unknown = set(lists) - set(KINDS)
        if unknown:
            raise ContractError(f"lists must be of {', '.join(KINDS)}, not {sorted(unknown)[0]!r}")
        subscription = Subscription(uris, tuple(lists))
        subscribe = self._listen if self._is_stateless else self._subscribe
        async with subscribe(subscription):
            yield subscription

    # Parts of requests

    @property
    def _open(self) -> Peer:
        if self._peer is None:
            raise ContractError("this client is not connected; use it inside of `async with`")
        return self._peer

    @property
    def _is_stateless(self) -> bool:
        return REVISIONS[self._open.revision].stateless

    def _list(
        self, method: str, key: str, entry: Callable[[dict[str, Any]], Any], seconds: float | None
    ) -> Listing[Any]:
        return Listing(self._open, method, key, entry, self._meta(), seconds)

    def _meta(self) -> dict[str, Any]:
        """Return the `_meta` of a request: the log level, in the stateless era."""
        level = self._log_level or (None if self._on_log is None else _DEFAULT_LEVEL)
        return {_LOG_LEVEL: level} if level is not None and self._is_stateless else {}

    def _with_meta(self, params: Params) -> Params:
        meta, given = self._meta(), params or {}
        return {**given, "_meta": {**meta, **given.get("_meta", {})}} if meta else params

    async def _input_request(
        self,
        method: str,
        params: dict[str, Any],
        seconds: float | None,
        on_progress: OnProgress | None,
    ) -> Reply:
        peer = self._open

        async def send(meta: dict[str, Any], answers: dict[str, Any]) -> Reply:
            sent = {**params, **answers, **({"_meta": meta} if meta else {})}
            return await peer.request(method, sent, within=seconds)

        return await self._interact(peer, method, send, on_progress)

    async def _interact(
        self,
        peer: Peer,
        method: str,
        send: Callable[[dict[str, Any], dict[str, Any]], Awaitable[Reply]],
        on_progress: OnProgress | None,
    ) -> Reply:
        """Send a request that may ask for input, until its result is complete."""
        meta, answers = self._meta(), dict[str, Any]()
        with self._listening_to_progress(on_progress, meta) as listener:
            for _ in range(_MAX_ROUNDS):
                reply = await self._send_guarded(peer, partial(send, meta, answers))
                if await self._has_opened_pages(peer, reply.error):
                    continue
                result = reply.result
                if not isinstance(result, dict) or result.get("resultType") != "input_required":
                    if listener is not None:
                        await listener.finish()
                    return reply
                answers = await self._answers(peer, result)
        raise PeerError(f"{method} asked for input more than {_MAX_ROUNDS} times")

    async def _answers(self, peer: Peer, result: dict[str, Any]) -> dict[str, Any]:
        """Return the params that repeat a request: answers to all its questions, and its state."""
        requests = result.get("inputRequests") or {}
        if not isinstance(requests, dict) or not all(
            isinstance(r, dict) for r in requests.values()
        ):
            raise PeerError("inputRequests must be an object of requests")
        if len(requests) > _MAX_QUESTIONS:
            raise PeerError(
                f"the server asks {len(requests):,} questions at once; the most is {_MAX_QUESTIONS}"
            )
        found = await self._ask(
            peer, [(str(each.get("method")), each.get("params")) for each in requests.values()]
        )
        responses = dict(zip(requests, found, strict=True))
        answers: dict[str, Any] = {"inputResponses": responses} if responses else {}
        if "requestState" in result:
            answers["requestState"] = result["requestState"]
        if not answers:
            raise PeerError("the server asked for input, but for nothing in particular")
        return answers

    async def _ask(self, peer: Peer, requests: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
        """Return the results of requests, from their handlers, which the end of the client ends."""
        tasks = [asyncio.create_task(self._handlers.answer(*request)) for request in requests]
        self._tasks.update(tasks)
        try:
            found = await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            if self._peer is not peer:
                raise PeerError("this connection was closed before the reply arrived") from None
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._tasks.difference_update(tasks)
        return found

    async def _has_opened_pages(self, peer: Peer, error: Any) -> bool:
        """True if an error lists pages that the user has to open first, and has opened."""
        members = error if isinstance(error, dict) else {}
        data = members.get("data")
        pages = data.get("elicitations") if isinstance(data, dict) else None
        if members.get("code") != URL_ELICITATION_REQUIRED or not isinstance(pages, list):
            return False
        if not pages or not self._handlers.has_handler(ELICIT):
            return False
        for page in pages:
            (answer,) = await self._ask(peer, [(ELICIT, page)])
            if answer["action"] != "accept":
                return False
        return True

    async def _send_guarded(self, peer: Peer, send: Callable[[], Awaitable[Reply]]) -> Reply:
        """Send a request; a handler that fails meanwhile cancels it, and its error is raised."""
        if REVISIONS[peer.revision].stateless or not self._handlers.capabilities:
            return await send()
        failure: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        request: asyncio.Future[Reply] = asyncio.ensure_future(send())
        self._failures.append(failure)
        try:
            both: set[asyncio.Future[Any]] = {request, failure}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if failure.done():
                raise failure.result()
            return request.result()
        finally:
            self._failures.remove(failure)
            request.cancel()
            await asyncio.gather(request, return_exceptions=True)

    # Messages of the server

    def _receive_request(self, request: dict[str, Any]) -> Response | None:
        """Answer a request of the server in a task."""
        method, key = str(request["method"]), _key(request["id"])
        if not self._handlers.has_handler(method) or key in self._questions:
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"No handler for {method}"}}
        if len(self._questions) >= _MAX_QUESTIONS:
            return _BUSY
        task = asyncio.create_task(self._respond(request["id"], method, request.get("params")))
        self._questions[key] = task
        task.add_done_callback(lambda _: self._questions.pop(key, None))
        return None

    async def _respond(self, request_id: Any, method: str, params: Any) -> None:
        connection = self._stack
        response: Response
        error: Exception | None = None
        try:
            response = {"result": await self._handlers.answer(method, params)}
        except Exception as failed:  # noqa: BLE001 - of the user's handler; it goes to the caller
            response, error = _UNABLE, failed
        if self._stack is not connection:  # it is closed
            return
        await self._connected.wait()
        with suppress(PeerError):
            await self._open.answer(request_id, response)
        if error is not None:
            self._fail(method, error)

    def _fail(self, method: str, error: Exception) -> None:
        """Raise the error of a handler in the request that is open; log it if that is unclear."""
        if len(self._failures) == 1 and not self._failures[0].done():
            self._failures[0].set_result(error)
        else:
            log.error("the handler of %s failed", method, exc_info=error)

    def _receive_notification(self, notification: dict[str, Any]) -> None:
        params = params_of(notification)
        match notification.get("method"):
            case "notifications/progress":
                listener = self._progress.get(str(params.get("progressToken")))
                if listener is not None:
                    listener.receive(params)
            case "notifications/message":
                self._receive_log(params)
            case "notifications/cancelled":
                task = self._questions.get(_key(params.get("requestId")))
                if task is not None:
                    task.cancel()
            case _:
                self._receive_change(notification)
        if self._on_notification is not None:
            self._on_notification.call(notification)

    def _receive_log(self, params: dict[str, Any]) -> None:
        level, logger = params.get("level"), params.get("logger")
        if self._on_log is not None and level in LEVELS:
            name = logger if isinstance(logger, str) else None
            self._on_log.call(LogMessage(level, params.get("data"), name))

    def _receive_change(self, notification: dict[str, Any]) -> None:
        subscribed = subscription_id(notification)
        listener = None if subscribed is None else self._listeners.get(subscribed)
        if listener is not None and notification.get("method") == ACKNOWLEDGED:
            listener.acknowledge(params_of(notification).get("notifications"))
            return
        change = change_of(notification)
        if change is None:
            return
        if listener is not None:
            listener.subscription.add(change)
        for subscription in self._subscriptions:
            if subscription.wants(change):
                subscription.add(change)

    @contextmanager
    def _listening_to_progress(
        self, on_progress: OnProgress | None, meta: dict[str, Any]
    ) -> "Iterator[ProgressListener | None]":
        if on_progress is None:
            yield None
            return
        require_function("on_progress", on_progress)
        listener = ProgressListener(on_progress, self._tasks, self._handlers.seconds)
        token = meta["progressToken"] = next(self._tokens)
        self._progress[token] = listener
        try:
            yield listener
        finally:
            del self._progress[token]
            listener.close()

    # Subscriptions

    @asynccontextmanager
    async def _subscribe(self, subscription: Subscription) -> AsyncIterator[None]:
        """Subscribe in the handshake era, where lists are reported without asking."""
        dispatcher = self._open.dispatcher
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lost.add_done_callback(lambda future: _end(subscription, future))
        dispatcher.watchers.add(lost)
        self._subscriptions.append(subscription)
        done: list[str] = []
        try:
            await self._open.listening()
            for uri in subscription.uris:
                self._subscribed[uri] = self._subscribed.get(uri, 0) + 1
                done.append(uri)
                if self._subscribed[uri] == 1:
                    reply = await self.request(_SUBSCRIBE, {"uri": uri})
                    _result(f"subscribing to {uri}", reply)
                    self._open.session_state[_SUBSCRIBE, uri] = {"uri": uri}
            yield
        finally:
            self._subscriptions.remove(subscription)
            dispatcher.watchers.discard(lost)
            lost.cancel()
            await self._unsubscribe(done)

    async def _unsubscribe(self, uris: Sequence[str]) -> None:
        """End subscriptions, all at once: a server that hangs takes one time limit."""
        ended = []
        for uri in uris:
            self._subscribed[uri] -= 1
            if not self._subscribed[uri]:
                del self._subscribed[uri]
                ended.append(uri)
        if self._peer is not None:
            for uri in ended:
                self._peer.session_state.pop((_SUBSCRIBE, uri), None)
            requests = [self.request("resources/unsubscribe", {"uri": uri}) for uri in ended]
            await asyncio.gather(*requests, return_exceptions=True)

    @asynccontextmanager
    async def _listen(self, subscription: Subscription) -> AsyncIterator[None]:
        """Subscribe in the stateless era: a request that stays open."""
        listener = Listener(subscription)
        identities: list[int] = []

        def start(request_id: int) -> None:
            identities.append(request_id)
            self._listeners[request_id] = listener

        async def listen() -> None:
            method, params = "subscriptions/listen", {"notifications": subscription.wanted}
            try:
                reply = await self._open.request(method, params, within=inf, on_start=start)
                _result(method, reply)
            except PeerError as error:
                listener.end(error)
            else:
                listener.end()

        task = asyncio.create_task(listen())
        self._tasks.add(task)
        try:
            await listener.ready
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self._tasks.discard(task)
            for identity in identities:
                self._listeners.pop(identity, None)


def _result(activity: str, reply: Reply) -> Any:
    """Return the result of a reply, or raise its error."""
    if reply.error is not None:
        raise mcp_error(activity, reply.error)
    return reply.result


def _end(subscription: Subscription, lost: "asyncio.Future[None]") -> None:
    if not lost.cancelled():
        error = lost.exception()
        subscription.end(error if isinstance(error, PeerError) else None)


def _key(request_id: Any) -> str:
    """Return a key for the id of a server's request, which may be any JSON."""
    return repr(request_id)


def _checked_level(level: str) -> Level:
    if level not in LEVELS:
        raise ContractError(f"log_level must be one of {', '.join(get_args(Level))}, not {level!r}")
    return level
