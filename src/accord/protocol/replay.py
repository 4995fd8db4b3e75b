"""Questions of the stateless era: a run ends with them, and begins again with the answers.

What was answered so far travels with the client, sealed: over the request that it belongs to, who
sent that, until when it is good, and which question each answer is for. A client can read it, since
it holds nothing but its own answers, and can change nothing in it.
"""

from collections.abc import Callable, Mapping
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
    """What a request brings that is sent again: answers as they came, and the state, if any."""

    responses: Raw
    state: str | None


class _Answer(msgspec.Struct, frozen=True, array_like=True):
    question: str
    """Its digest."""
    answer: Raw


class _State(msgspec.Struct, frozen=True, array_like=True):
    until: int
    request: str
    """The digest of what was asked for, and by whom."""
    answered: dict[str, _Answer]
    asked: dict[str, str]
    """The digests of the questions that are open."""


class Script:
    """The answers that a run can count on, and those that it has used."""

    def __init__(
        self,
        answered: Mapping[str, _Answer] | None = None,
        asked: Mapping[str, str] | None = None,
        given: Mapping[str, Raw] | None = None,
    ) -> None:
        self._answered = answered or {}
        self._asked = asked
        self._given = given or {}
        self.used: dict[str, _Answer] = {}

    def play(
        self, questions: Mapping[str, Question], revision: Revision
    ) -> tuple[dict[str, bytes], dict[str, Question]]:
        """The answers that there are, and the questions that have none."""
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
        """The answer to this very question; one that was worded otherwise is asked again."""
        recorded = self._answered.get(key)
        if recorded is not None and recorded.question == question:
            return recorded
        is_for_this = self._asked is None or self._asked.get(key) == question
        return _Answer(question, self._given[key]) if key in self._given and is_for_this else None


class Replay:
    """Seals what was answered, and opens it again."""

    def __init__(
        self, signer: Signer, *, seconds: float = _SECONDS, clock: Callable[[], float] = time
    ) -> None:
        self._signer = signer
        self._seconds = seconds
        self._clock = clock

    def result(
        self, request: bytes, script: Script, asked: Mapping[str, Question], revision: Revision
    ) -> dict[str, Any]:
        """What a run gives that has something to ask."""
        digests = {key: digest(question, revision) for key, question in asked.items()}
        until = int(self._clock() + self._seconds)
        state = _State(until, _digest(request), script.used, digests)
        return {
            "resultType": "input_required",
            "inputRequests": {
                key: {"method": question.method, "params": question.params(revision)}
                for key, question in asked.items()
            },
            "requestState": self._signer.sign(_PURPOSE, _encode(state)),
        }

    def script(self, request: bytes, retry: Retry) -> Script | Reject:
        """What a request that is sent again can count on, or why it cannot be."""
        try:
            given = _given(retry.responses) if bytes(retry.responses) else {}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Reject(INVALID_PARAMS, "params.inputResponses must be an object")
        if retry.state is None:
            return Script(given=given)
        try:
            state = msgspec.json.decode(self._signer.verify(_PURPOSE, retry.state), type=_State)
        except (BadSignature, msgspec.MsgspecError):
            return Reject(INVALID_PARAMS, "params.requestState was not made here")
        if state.request != _digest(request):
            return Reject(INVALID_PARAMS, "params.requestState belongs to another request")
        if self._clock() > state.until:
            return Reject(INVALID_PARAMS, "params.requestState has expired; begin again without it")
        return Script(state.answered, state.asked, given)


def subject(method: str, name: str, arguments: bytes, principal: bytes | None) -> bytes:
    """What a request asks for and who asks, in one form for all ways to write it."""
    try:
        asked = read_exactly(arguments)
    except (msgspec.MsgspecError, RecursionError):  # then it is the same if it is written the same
        asked = arguments
    return _canonical([method, name, asked, principal])


def _digest(request: bytes) -> str:
    from hashlib import blake2b  # a server starts without it, and faster

    return blake2b(request, digest_size=16).hexdigest()
