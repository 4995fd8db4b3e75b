"""Dependencies: parameters that other functions provide for each call.

`resolve` orders them, `executable` runs them around a function. A function and its dependencies run
together: on the event loop if the function is async, else in its thread. Async dependencies of a
plain `def`, and those that they need, run on the loop before the thread starts.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec

from accord.errors import ContractError
from accord.model.context import Context
from accord.model.tool import Executable, Overrides
from accord.sources.functions.introspect import function_body, is_context, type_hints_of


class Depends(msgspec.Struct, frozen=True):
    """Marks a parameter that a function provides: `Annotated[Session, Depends(get_session)]`.

    The function may be async, and may be a generator that yields the value once: the rest of it
    runs after the call, with the exception if the call failed. It runs once for each call, however
    many parameters need it. Its own parameters are a `Context`, other dependencies, or have
    defaults.
    """

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ContractError(
                f"Depends takes a function, not {self.function!r}; write Depends(get_session)"
            )
        try:
            hash(self.function)
        except TypeError as error:
            raise ContractError(
                f"{self.function!r} cannot be a dependency: it is not hashable", at=self.function
            ) from error


def dependency_of(parameter: inspect.Parameter, hint: Any) -> Depends | None:
    """Return the dependency that provides a parameter, if one does."""
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    for extra in (*extras, parameter.default):
        if isinstance(extra, Depends):
            return extra
        if extra is Depends:
            raise ContractError(
                f"parameter {parameter.name!r} needs the function that provides it;"
                " write Depends(get_session)"
            )
    return None


class Step(NamedTuple):
    """One dependency: its function, and the indexes of the values that it needs."""

    function: Callable[..., Any]
    needs: Mapping[str, int]
    is_async: bool
    is_generator: bool

    def start(self, values: Sequence[Any]) -> Any:
        """Call the function; return its value, or its generator."""
        value = self.function(**{name: values[at] for name, at in self.needs.items()})
        return getattr(value, "gen", value) if self.is_generator else value  # a context manager's

    def misused(self, fault: str) -> ContractError:
        """Return the error of a generator that does not yield once."""
        name = getattr(self.function, "__name__", repr(self.function))
        return ContractError(f"dependency {name!r} {fault}; it must yield once", at=self.function)


class Plan(NamedTuple):
    """The dependencies of a function in the order in which they run."""

    steps: Sequence[Step]
    indexes: Mapping[str, int]
    """The index of the value for each parameter of the function; 0 is the Context."""
    split: int
    """The number of steps that run on the event loop, for a plain `def`."""
    functions: tuple[Callable[..., Any], ...]
    """The functions of all dependencies."""

    @property
    def wants_context(self) -> bool:
        """True if a dependency needs the Context."""
        return any(0 in step.needs.values() for step in self.steps)


def resolve(
    dependencies: Mapping[str, Depends], overrides: Overrides, what: str, *, is_async: bool
) -> Plan:
    """Return the order in which to run the dependencies of a function, each once."""
    graph: Graph = {}
    provided = {
        name: overrides.get(depends.function, depends.function)
        for name, depends in dependencies.items()
    }
    for function in provided.values():
        _explore(function, graph, overrides, (), what)
    on_loop = set(graph) if is_async else _needed_on_loop(graph)
    order = sorted(graph, key=lambda function: function not in on_loop)  # a stable sort
    indexes: dict[Any, int] = {None: 0} | {each: n for n, each in enumerate(order, start=1)}
    steps = [
        _step(function, {name: indexes[needed] for name, needed in graph[function].items()})
        for function in order
    ]
    at = {name: indexes[function] for name, function in provided.items()}
    return Plan(steps, at, len(on_loop), tuple(order))


Graph = dict[Callable[..., Any], Mapping[str, Callable[..., Any] | None]]
"""The functions that provide the parameters of each function, by name; None is the Context.

Each function comes after those that it needs.
"""


def _explore(
    function: Callable[..., Any],
    graph: Graph,
    overrides: Overrides,
    path: tuple[Callable[..., Any], ...],
    what: str,
) -> None:
    """Add a function to the graph, after all that it needs."""
    if function in path:
        names = " -> ".join(_name(each) for each in (*path, function))
        raise ContractError(f"the dependencies of {what} form a cycle: {names}", at=function)
    if function in graph:
        return
    needs = {
        name: None if depends is None else overrides.get(depends.function, depends.function)
        for name, depends in _needs(function, what).items()
    }
    for needed in needs.values():
        if needed is not None:
            _explore(needed, graph, overrides, (*path, function), what)
    graph[function] = needs


def _needed_on_loop(graph: Graph) -> set[Callable[..., Any]]:
    """Return the async functions, and those that they need."""
    found: set[Callable[..., Any]] = set()
    for function in reversed(graph):  # each before those that it needs
        if function in found or _step(function, {}).is_async:
            found.add(function)
            found.update(each for each in graph[function].values() if each is not None)
    return found


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", repr(function)))


def _needs(function: Callable[..., Any], what: str) -> dict[str, Depends | None]:
    """Return the parameters of a dependency: another one, or None for the Context."""
    name = _name(function)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError) as error:
        raise ContractError(f"dependency {name!r} of {what} has no signature") from error
    hints = type_hints_of(function, f"dependency {name!r} of {what}")
    found: dict[str, Depends | None] = {}
    for parameter in parameters:
        hint = hints.get(parameter.name)
        depends = dependency_of(parameter, hint)
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.default is parameter.empty:
            raise ContractError(
                f"parameter {parameter.name!r} of dependency {name!r} is positional-only;"
                " remove the / from its signature",
                at=function,
            )
        if depends is not None or is_context(hint):
            found[parameter.name] = depends
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise ContractError(
                f"parameter {parameter.name!r} of dependency {name!r} has no value; annotate it as"
                " Context or Annotated[…, Depends(…)], or give it a default",
                at=function,
            )
    return found


def _step(function: Callable[..., Any], needs: Mapping[str, int]) -> Step:
    bodies = [function_body(function), inspect.unwrap(function_body(function))]
    for body in bodies:
        if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
            return Step(function, needs, inspect.isasyncgenfunction(body), is_generator=True)
    is_async = any(map(inspect.iscoroutinefunction, bodies))
    return Step(function, needs, is_async, is_generator=False)


Call = Callable[[Any, list[Any]], Any]
"""A function, called with its checked arguments and the values of its dependencies."""


def executable(call: Call, plan: Plan, *, is_async: bool, wants_context: bool) -> Executable:
    """Return a function that runs dependencies around a call."""
    wants_context = wants_context or plan.wants_context
    if is_async:
        around = _around(call, plan.steps, is_async=True)
        return Executable(lambda record, context: around(record, [context]), True, wants_context)
    if not plan.split:
        around = _around(call, plan.steps, is_async=False)
        return Executable(
            lambda record, context: _result_of(around(record, [context])), False, wants_context
        )
    inner = _around(call, plan.steps[plan.split :], is_async=False)
    outer = _around(_in_thread(inner), plan.steps[: plan.split], is_async=True)
    return Executable(lambda record, context: outer(record, [context]), True, True)


def _result_of(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits: one of plain functions."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise ContractError("a dependency of a plain def has waited")


def _in_thread(inner: Call) -> Call:
    """Return a call that continues in a thread."""

    async def call(record: Any, values: list[Any]) -> Any:
        context: Context[Any] = values[0]
        for_thread = context.for_thread()
        try:
            return await context.run_in_thread(
                lambda: _result_of(inner(record, [for_thread, *values[1:]]))
            )
        except BaseException:
            for_thread.abandon()
            raise

    return call


def _around(call: Call, steps: Sequence[Step], *, is_async: bool) -> Call:
    """Return a coroutine function that runs dependencies before and after a call."""
    if not any(step.is_generator for step in steps):
        return _before(call, steps, is_async=is_async)

    async def invoke(record: Any, values: list[Any]) -> Any:
        opened: list[tuple[Step, Any]] = []
        try:
            for step in steps:
                value = step.start(values)
                if step.is_generator:
                    generator = value
                    value = await _first(step, generator)
                    opened.append((step, generator))
                elif step.is_async:
                    value = await value
                values.append(value)
            result = call(record, values)
            if is_async:
                result = await result
        except BaseException as error:
            await _close(opened, error)
            raise
        await _close(opened, None)
        return result

    return invoke


def _before(call: Call, steps: Sequence[Step], *, is_async: bool) -> Call:
    """Return a coroutine function that runs dependencies before a call."""

    async def invoke(record: Any, values: list[Any]) -> Any:
        for step in steps:
            value = step.start(values)
            values.append(await value if step.is_async else value)
        result = call(record, values)
        return await result if is_async else result

    return invoke


async def _first(step: Step, generator: Any) -> Any:
    """Return the value that a generator yields."""
    try:
        return await anext(generator) if step.is_async else next(generator)
    except (StopIteration, StopAsyncIteration):
        raise step.misused("yielded nothing") from None


async def _close(opened: list[tuple[Step, Any]], error: BaseException | None) -> None:
    """Run the rest of each generator, the last one first, and raise what they raise instead.

    A generator cannot suppress the error: the call has no result then.
    """
    given = error
    while opened:
        step, generator = opened.pop()
        try:
            await _finish(step, generator, error)
        except BaseException as raised:  # noqa: BLE001 - the others are closed as well
            error = raised
    if error is not None and error is not given:
        raise error


async def _finish(step: Step, generator: Any, error: BaseException | None) -> None:
    try:
        if step.is_async:
            await (anext(generator) if error is None else generator.athrow(error))
        elif error is None:
            next(generator)
        else:
            generator.throw(error)
    except (StopIteration, StopAsyncIteration):
        return
    if step.is_async:
        await generator.aclose()
    else:
        generator.close()
    raise step.misused("yielded twice")
