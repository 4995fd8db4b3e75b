"""Input requests of the stateless era: a run ends with them, and is repeated with the responses.

The responses so far travel with the client in `requestState`, signed together with the request that
they belong to, its sender, an expiry time, and the question that each of them answers. A client can
read the state, since it holds only the client's own responses, but cannot change it.
"""

from collections.abc import Callable, Collection, Mapping
from time import time
from typing import Any, Final

import msgspec
from msgspec import Raw

from accord.errors import INVALID_PARAMS, Reject
from accord.model.questions import Question, digest
from accord.model.values import read_exactly
from accord.revisions import Revision
from accord.signing import BadSignature, Signer

_PURPOSE: Final = "requestState"
_SECONDS: Final = 15 * 60.0
_canonical = msgspec.json.Encoder(order="deterministic").encode
_encode = msgspec.json.Encoder().encode
_given = msgspec.json.Decoder(dict[str, Raw]).decode


class Retry(msgspec.Struct, frozen=True):
    """Params of a repeated request: the responses as they came, and the state, if any."""

    responses: Raw
    state: str | None


class _Answer(msgspec.Struct, frozen=True, array_like=True):
    question: str
    """Digest of the question."""
    answer: Raw


class _State(msgspec.Struct, frozen=True, array_like=True):
    until: int
    request: str
    """Digest of the request and its sender."""
    answered: dict[str, _Answer]
    asked: dict[str, str]
    """Digests of the open questions."""
    inner: str | None = None
    """The `requestState` of another server, to which the request was forwarded."""


class InputResponses:
    """The responses that a run can use, and those that it has used."""

    def __init__(
        self,
        answered: Mapping[str, _Answer] | None = None,
        asked: Mapping[str, str] | None = None,
        given: Mapping[str, Raw] | None = None,
        inner: str | None = None,
    ) -> None:
        self._answered = answered or {}
        self._asked = asked
        self._given = given or {}
        self.inner = inner
        """The `requestState` of another server, to which the request was forwarded."""
        self.used: dict[str, _Answer] = {}

    @property
    def asked(self) -> Collection[str]:
        """The keys of the questions that the state was made for."""
        return self._asked or ()

    @property
    def given(self) -> Mapping[str, Raw]:
        """The responses to the questions that the state was made for, as the client sent them."""
        return {key: each for key, each in self._given.items() if key in self.asked}

    def find(
        self, questions: Mapping[str, Question], revision: Revision
    ) -> tuple[dict[str, bytes], dict[str, Question]]:
        """Return the responses to questions, and the questions without one."""
        answers: dict[str, bytes] = {}
        unanswered: dict[str, Question] = {}
        for key, question in questions.items():
            answer = self._find(key, digest(question, revision))
            if answer is None:
                unanswered[key] = question
            else:
                self.used[key] = answer
                answers[key] = bytes(answer.answer)
        return answers, unanswered

    def _find(self, key: str, question: str) -> _Answer | None:
        """Return the response to exactly this question; a question that changed is asked again."""
        recorded = self._answered.get(key)
        if recorded is not None and recorded.question == question:
            return recorded
        is_for_this = self._asked is None or self._asked.get(key) == question
        return _Answer(question, self._given[key]) if key in self._given and is_for_this else None


class InputState:
    """Signs and verifies `requestState`."""

    def __init__(
        self, signer: Signer, *, seconds: float = _SECONDS, clock: Callable[[], float] = time
    ) -> None:
        self._signer = signer
        self._seconds = seconds
        self._clock = clock

    def result(
        self,
        request: bytes,
        responses: InputResponses,
        asked: Mapping[str, Question],
        revision: Revision,
        inner: str | None = None,
    ) -> dict[str, Any]:
        """Return the result of a run that needs input."""
        digests = {key: digest(question, revision) for key, question in asked.items()}
        until = int(self._clock() + self._seconds)
        state = _State(until, _digest(request), responses.used, digests, inner)
        return {
            "resultType": "input_required",
            "inputRequests": {
                key: {"method": question.method, "params": question.params(revision)}
                for key, question in asked.items()
            },
            "requestState": self._signer.sign(_PURPOSE, _encode(state)),
        }

    def verify(self, request: bytes, retry: Retry) -> InputResponses | Reject:
        """Return the responses that a repeated request brings, or the error in it."""
        try:
            given = _given(retry.responses) if bytes(retry.responses) else {}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Reject(INVALID_PARAMS, "params.inputResponses must be an object")
        if retry.state is None:
            return InputResponses(given=given)
        try:
            state = msgspec.json.decode(self._signer.verify(_PURPOSE, retry.state), type=_State)
        except (BadSignature, msgspec.MsgspecError):
            return Reject(INVALID_PARAMS, "params.requestState was not made here")
        if state.request != _digest(request):
            return Reject(INVALID_PARAMS, "params.requestState belongs to another request")
        if self._clock() > state.until:
            return Reject(INVALID_PARAMS, "params.requestState has expired; begin again without it")
        return InputResponses(state.answered, state.asked, given, state.inner)


def subject(method: str, name: str, arguments: bytes, principal: bytes | None) -> bytes:
    """Return a canonical form of a request and its sender."""
    try:
        asked = read_exactly(arguments)
    except (msgspec.MsgspecError, RecursionError):  # compared by its bytes
        asked = arguments
    return _canonical([method, name, asked, principal])


def _digest(request: bytes) -> str:
    from hashlib import blake2b  # a server starts without it, and faster

    return blake2b(request, digest_size=16).hexdigest()
