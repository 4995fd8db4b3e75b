"""Prompts, resources and completions of a server, and the operations on them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import Raw

from accord.errors import INTERNAL_ERROR, INVALID_PARAMS, ContractError, Reject
from accord.model.answer import InputRequired, Problem
from accord.model.completion import Completer, completer_of, completion_of
from accord.model.context import Context
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.values import known
from accord.protocol import Call, messages
from accord.protocol.events import COMPLETION, PROMPT, RESOURCE, Special
from accord.protocol.messages import CompleteParams, PromptReference
from accord.protocol.results import Result, cacheable
from accord.revisions import Revision
from accord.server.operation import GIVEN, Done, Operation, rejected
from accord.server.outcome import MASKED, Outcome, log_failure, mask, meaning_of

_NO_COMPLETION: Final = completer_of(())
_encode = msgspec.json.Encoder().encode


class FeatureOperation(msgspec.Struct, frozen=True, eq=False):
    """An operation on a prompt, a resource, a completion or a list for a caller."""

    call: Call
    what: str
    """The name of the operation in the log."""
    act: Callable[[], Any]
    """Runs it; returns an awaitable if it `is_async`."""
    word: Callable[[Any], Result | Raw | Reject]
    """Renders the result; Raw is sent as it is."""
    renderer: "Renderer"
    is_async: bool = False

    async def run(self) -> Done:
        """Do it. What is raised becomes an error; what is no Problem is masked."""
        try:
            value = self.act()
            if self.is_async:
                value = await value
            result = self.word(value)
            if isinstance(result, Reject):
                return rejected(self.call, result)
            if isinstance(result, dict):
                result = self.renderer.complete(result, self.call.revision)
            return Done(GIVEN, messages.reply(self.call.id, result))
        except BaseException as error:  # noqa: BLE001 - SystemExit too: nothing ends a server
            done = self._failed(meaning_of(error, self.call.revision))
            error.__traceback__ = (
                None  # a cycle: its frames hold this one, and the function's locals
            )
            return done

    def refuse(self, problem: Problem) -> Done:
        """How it ends when it cannot be run after all."""
        return Done(problem, messages.failure(self.call.id, reject_of(problem, self.call)))

    def _failed(self, outcome: Outcome | BaseException) -> Done:
        """How it ends that did not end well; the cause of what is masked goes to the log."""
        try:
            done = self._said(outcome)
        except Exception as error:  # noqa: BLE001 - a message that cannot be sent, say
            done, outcome = None, error
        if done is not None:
            return done
        assert isinstance(outcome, BaseException)
        if not self.call.cancelled:
            log_failure(self.what, outcome)
        return self.refuse(mask(outcome))

    def _said(self, outcome: Outcome | BaseException) -> Done | None:
        if isinstance(outcome, InputRequired):
            return self.renderer.asking(self.call, outcome)
        if isinstance(outcome, Reject):
            return rejected(self.call, outcome)
        return self.refuse(outcome) if isinstance(outcome, Problem) else None


class Renderer(Protocol):
    """Completes results for a revision, and signs the state of input requests."""

    def complete(self, result: Result, revision: Revision) -> Result:
        """A result with all that its revision wants in it."""

    def asking(self, call: Call, asking: InputRequired) -> Done:
        """How a call ends that has something to ask."""


def reject_of(problem: Problem, call: Call) -> Reject:
    """A problem where there is no result that could say it."""
    if problem.kind == "not_found" and call.method == RESOURCE:
        return Reject(call.revision.missing_resource, problem.message, {"uri": call.name})
    if problem.kind == "validation":
        return Reject(INVALID_PARAMS, problem.message, {"validation_errors": problem.fields})
    details = known(code=problem.code, remediation=problem.remediation)
    return Reject(INTERNAL_ERROR, problem.message, None if problem is MASKED else details)


class Offers:
    """Prompts by name, resources by URI or template, and what completes their arguments."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self.prompts: dict[str, Prompt] = {}
        self.resources: dict[str, Resource] = {}
        self._completers: dict[tuple[str, str], Completer] = {}

    def add(self, offer: Prompt | Resource) -> None:
        """Put it in, or raise if its name is taken."""
        if isinstance(offer, Prompt):
            if offer.name in self.prompts:
                raise ContractError(f"there are two prompts named {offer.name!r}")
            self.prompts[offer.name] = offer
            return
        if offer.uri in self.resources:
            raise ContractError(f"there are two resources at {offer.uri!r}")
        self.resources[offer.uri] = offer

    def remove(self, offer: Prompt | Resource) -> None:
        """Take it out, or raise if it is not there."""
        shelf: dict[str, Any] = self.prompts if isinstance(offer, Prompt) else self.resources
        key = offer.name if isinstance(offer, Prompt) else offer.uri
        if shelf.get(key) is not offer:
            raise ContractError(f"{key!r} is not there")
        del shelf[key]
        for argument in self.completers_of(key):
            del self._completers[key, argument]

    def complete(self, owner: str, argument: str, completer: Completer) -> None:
        """Say how an argument of a prompt, or a variable of a template, is completed."""
        if argument not in self._arguments(owner):
            raise ContractError(f"{owner!r} has no argument {argument!r} that could be completed")
        self._completers[owner, argument] = completer

    def completers_of(self, owner: str) -> dict[str, Completer]:
        """What completes the arguments of a prompt, or the variables of a template."""
        completers = list(self._completers.items())
        return {name: each for (of, name), each in completers if of == owner}

    @property
    def can_complete(self) -> bool:
        """Whether there is an argument that can be completed."""
        prompts, resources = list(self.prompts.values()), list(self.resources.values())
        return bool(self._completers) or (
            any(argument.choices for prompt in prompts for argument in prompt.arguments)
            or any(resource.choices for resource in resources)
        )

    def find(self, uri: str) -> tuple[Resource, Mapping[str, str]] | None:
        """The resource that a URI stands for: one under that very URI first, then by template."""
        resource = self.resources.get(uri)
        if resource is not None and resource.is_static:
            return resource, {}
        for each in list(self.resources.values()):
            variables = None if each.is_static else each.match(uri)
            if variables is not None:
                return each, variables
        return None

    def known_name(self, call: Call) -> str:
        """The prompt's name, or the resource's own URI or template; the method for the rest."""
        if call.method == PROMPT:
            return call.name if call.name in self.prompts else "?"
        if call.method != RESOURCE:
            return call.method
        found = self.find(call.name)
        return "?" if found is None else found[0].uri

    def prepare(self, call: Call, special: Special) -> Operation | Done:
        """What is to be done for a call of any other method than a tool's."""
        if special.method == COMPLETION:
            return self._complete(call, special.params)
        return self._get(call) if special.method == PROMPT else self._read(call)

    def _get(self, call: Call) -> Operation | Done:
        prompt = self.prompts.get(call.name)
        if prompt is None:
            return rejected(call, Reject(INVALID_PARAMS, f"Unknown prompt: {call.name}"))
        return FeatureOperation(
            call,
            f"prompt {prompt.name}",
            lambda: _invoke(prompt, call, call.arguments),
            lambda said: prompt.to_wire(said, call.revision),
            self._renderer,
            prompt.is_async,
        )

    def _read(self, call: Call) -> Operation | Done:
        found = self.find(call.name)
        if found is None:
            return rejected(call, missing(call.name, call.revision))
        resource, variables = found

        def word(content: Any) -> Result:
            result = resource.to_wire(content, call.name)
            if call.revision.stateless:
                fresh_for_ms = int(resource.fresh_for * 1000)
                result |= cacheable("public" if resource.is_public else "private", fresh_for_ms)
            return result

        return FeatureOperation(
            call,
            f"resource {resource.uri}",
            lambda: _invoke(resource, call, _encode(variables)),
            word,
            self._renderer,
            resource.is_async,
        )

    def _complete(self, call: Call, params: CompleteParams) -> Operation | Done:
        is_known = call.name in (
            self.prompts if isinstance(params.ref, PromptReference) else self.resources
        )
        choices = self._arguments(call.name)
        name = params.argument.name
        if not is_known or name not in choices:
            what = "argument" if is_known else "reference"
            return rejected(call, Reject(INVALID_PARAMS, f"Unknown {what}: nothing to complete"))
        completer = self._completers.get((call.name, name))
        if completer is None:
            completer = completer_of(choices[name]) if choices[name] else _NO_COMPLETION
        return FeatureOperation(
            call,
            f"completion of {name} for {call.name}",
            lambda: completer.invoke(params.argument.value, params.context.arguments),
            lambda value: completion_of(value).to_wire(),
            self._renderer,
            completer.is_async,
        )

    def _arguments(self, owner: str) -> dict[str, Any]:
        """The arguments of a prompt or a template, with what each can be if that is known."""
        if owner in self.prompts:
            return {each.name: each.choices for each in self.prompts[owner].arguments}
        resource = self.resources.get(owner)
        names = [] if resource is None else resource.variables
        return {name: resource.choices.get(name, ()) for name in names} if resource else {}


def missing(uri: str, revision: Revision) -> Reject:
    """That there is no such resource."""
    return Reject(revision.missing_resource, "Resource not found", {"uri": uri})


def _invoke(offer: Prompt | Resource, call: Call, arguments: bytes) -> Any:
    bound = offer.bind(arguments)
    context = None
    if offer.wants_context:
        context = Context(call.name, call.client, call, may_wait=offer.is_async)
    return offer.invoke(bound.arguments, context)
