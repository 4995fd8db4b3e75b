"""Requests of a server for input: elicitation, sampling and roots, answered by handlers.

A server of the handshake era sends them as requests; in the stateless era a result lists them, and
the request is repeated with the answers. Handlers are the same for both.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

import msgspec

from accord.client.messages import TimedOut, require_seconds
from accord.errors import ContractError, PeerError
from accord.model.questions import Elicited, Root, Sampled

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"
_CAPABILITIES: Final = {ELICIT: "elicitation", SAMPLE: "sampling", ROOTS: "roots"}


class ElicitRequest(msgspec.Struct, frozen=True):
    """A question to the user: a form with a `schema`, or the `url` of a page to open."""

    message: str
    schema: dict[str, Any] | None = None
    """JSON Schema of the content; its properties are simple. None for a URL."""
    url: str | None = None
    params: dict[str, Any] = {}
    """The params of the request as received."""


class SampleRequest(msgspec.Struct, frozen=True):
    """A conversation that the client's model is asked to continue."""

    messages: list[dict[str, Any]]
    """Messages as received: `role` and `content`."""
    max_tokens: int
    system: str | None = None
    temperature: float | None = None
    stop: Sequence[str] = ()
    params: dict[str, Any] = {}
    """The params of the request as received."""

    @property
    def text(self) -> str:
        """The text of all messages, one per line."""
        blocks = [block for each in self.messages for block in _blocks(each.get("content"))]
        return "\n".join(str(b["text"]) for b in blocks if b.get("type") == "text" and "text" in b)


ElicitAnswer = Elicited[Any] | Mapping[str, Any]
"""The response to an elicitation; a mapping is accepted content."""
OnElicit = Callable[[ElicitRequest], ElicitAnswer | Awaitable[ElicitAnswer]]
SampleAnswer = Sampled | str
OnSample = Callable[[SampleRequest], SampleAnswer | Awaitable[SampleAnswer]]
RootLike = Root | str | PathLike[str]
"""A root, its URI, or its path."""


class InputHandlers:
    """The handlers of a client, and the capabilities that they imply."""

    def __init__(
        self,
        on_elicit: OnElicit | None,
        on_sample: OnSample | None,
        roots: Sequence[RootLike] | None,
        seconds: float | None,
    ) -> None:
        """`seconds` limits the time that a handler may take."""
        require_function("on_elicit", on_elicit)
        require_function("on_sample", on_sample)
        if seconds is not None:
            require_seconds("answer_timeout", seconds)
        self._on_elicit = on_elicit
        self._on_sample = on_sample
        self.roots: tuple[Root, ...] | None = None if roots is None else roots_of(roots)
        self.seconds = seconds

    @property
    def capabilities(self) -> dict[str, Any]:
        """The client capabilities that the handlers provide."""
        found: dict[str, Any] = {}
        if self._on_elicit is not None:
            found["elicitation"] = {"form": {}, "url": {}}
        if self._on_sample is not None:
            found["sampling"] = {}
        if self.roots is not None:
            found["roots"] = {"listChanged": True}
        return found

    def has_handler(self, method: str) -> bool:
        """True if requests of this method can be answered."""
        return _CAPABILITIES.get(method) in self.capabilities

    async def answer(self, method: str, params: Any) -> dict[str, Any]:
        """Return the result of a request, from its handler; raise what the handler raises."""
        if not self.has_handler(method):
            raise PeerError(f"the server requests {method}, which this client does not offer")
        given = params if isinstance(params, dict) else {}
        if method == ROOTS:
            return {"roots": [_known(root) for root in self.roots or ()]}
        if method == ELICIT:
            assert self._on_elicit is not None
            request = elicit_request(given)
            return elicit_result(await self._run("on_elicit", self._on_elicit, request))
        assert self._on_sample is not None
        return _sample_result(await self._run("on_sample", self._on_sample, _sample_request(given)))

    async def _run(self, name: str, handler: Callable[[Any], Any], request: Any) -> Any:
        timer = asyncio.timeout(self.seconds)
        try:
            async with timer:
                answer = handler(request)
                return await answer if inspect.isawaitable(answer) else answer
        except TimeoutError:
            if not timer.expired():
                raise
            raise TimedOut(name, f"{name} took longer than {self.seconds:g} s") from None


def require_function(name: str, value: object) -> None:
    """Raise ContractError unless an optional callback is a function."""
    if value is not None and not callable(value):
        raise ContractError(f"{name} must be a function, not {value!r}")


def elicit_request(params: Mapping[str, Any]) -> ElicitRequest:
    """Read the params of an elicitation."""
    message, raw = str(params.get("message", "")), dict(params)
    if params.get("mode") == "url" or "url" in params:
        return ElicitRequest(message, url=str(params.get("url", "")), params=raw)
    schema = params.get("requestedSchema")
    return ElicitRequest(message, schema if isinstance(schema, dict) else {}, params=raw)


def elicit_result(answer: Any) -> dict[str, Any]:
    """Return the result of an elicitation, from the answer of a handler."""
    if isinstance(answer, Mapping):
        return {"action": "accept", "content": dict(answer)}
    if not isinstance(answer, Elicited):
        raise ContractError(
            f"on_elicit must return an Elicited or a mapping, not {type(answer).__name__}"
        )
    if answer.data is None or not answer.accepted:
        return {"action": answer.action}
    return {"action": answer.action, "content": msgspec.to_builtins(answer.data)}


def _sample_request(params: dict[str, Any]) -> SampleRequest:
    messages = params.get("messages")
    max_tokens, temperature = params.get("maxTokens"), params.get("temperature")
    system, stop = params.get("systemPrompt"), params.get("stopSequences")
    return SampleRequest(
        [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else [],
        max_tokens if isinstance(max_tokens, int) else 0,
        system if isinstance(system, str) else None,
        temperature if isinstance(temperature, int | float) else None,
        [str(each) for each in stop] if isinstance(stop, list) else (),
        params,
    )


def _sample_result(answer: Any) -> dict[str, Any]:
    if isinstance(answer, str):
        answer = Sampled("assistant", {"type": "text", "text": answer}, "unknown", "endTurn")
    if not isinstance(answer, Sampled):
        raise ContractError(
            f"on_sample must return a Sampled or a str, not {type(answer).__name__}"
        )
    return _known(answer)


def roots_of(roots: Sequence[RootLike]) -> tuple[Root, ...]:
    """Return roots given by URI or path."""
    if isinstance(roots, str):
        raise ContractError(f"roots must be a list; write [{roots!r}]")
    return tuple(_root(each) for each in roots)


def _root(root: RootLike) -> Root:
    if isinstance(root, Root):
        return root
    if isinstance(root, str) and "://" in root:
        return Root(root)
    return Root(Path(root).absolute().as_uri())


def _known(value: Any) -> dict[str, Any]:
    """Return a Struct as an object without the members that are None."""
    encoded: dict[str, Any] = msgspec.to_builtins(value)
    return {name: each for name, each in encoded.items() if each is not None}


def _blocks(content: Any) -> list[dict[str, Any]]:
    several = content if isinstance(content, list) else [content]
    return [each for each in several if isinstance(each, dict)]
