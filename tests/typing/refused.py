# mypy: ignore-errors
"""What a user writes by mistake, each with the error that `mypy --strict` reports."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from accord import (
    Answer,
    Client,
    Context,
    Elicited,
    ElicitRequest,
    FieldError,
    Notice,
    Page,
    Problem,
    Server,
)

server = Server("shop", vers="1.0")  # E: call-arg
paged = Server("shop", page_size="20")  # E: arg-type
server.asgi(allow_host=("shop.example",))  # E: call-arg
server.asgi(grace="long")  # E: arg-type
server.run("http")  # E: call-arg


@server.tool(readonly=True)  # E: call-overload, untyped-decorator
def misspelt() -> None: ...


@server.tool(read_only="yes")  # E: call-overload, untyped-decorator
def mistyped() -> None: ...


@server.tool("name")  # E: call-overload, untyped-decorator
def positional() -> None: ...


@server.tool
def add(a: int, b: int = 2) -> int:
    return a + b


add("1")  # E: arg-type
add(c=1)  # E: call-arg


@server.tool
def count() -> Answer[int]:
    return Answer("five")  # E: arg-type


@server.tool
async def careless(context: Context) -> None:
    context.progress(1)  # E: unused-coroutine
    await context.progress("half")  # E: arg-type
    context.require(1)  # E: arg-type
    context.cancelled = True  # E: misc
    context.sampling()  # E: attr-defined


answer = Answer(5, mesage="Five")  # E: call-arg
answer.data = 6  # E: misc
Answer([], page=Page(size=5))  # E: call-arg
Notice("old", severity="fatal")  # E: arg-type

Problem("Gone", kind="gone")  # E: arg-type
Problem("Gone", fields=["id"])  # E: list-item
Problem.gone("Gone")  # E: attr-defined
Problem.not_found()  # E: call-arg
Problem.not_found("Gone", remedy="none")  # E: call-arg
Problem.not_found("Gone", retry_after="soon")  # E: arg-type
FieldError("id")  # E: call-arg


def wrong_answer(request: ElicitRequest) -> int:
    return 5


async def careless_client() -> None:
    Client(5)  # E: arg-type
    Client(server, on_elicit=wrong_answer)  # E: arg-type
    Client(server, on_sample=lambda request: 5)  # E: arg-type, return-value
    Client(server, log_level="loud")  # E: arg-type
    Client(server, era="future")  # E: arg-type
    Client(server, roots=[5])  # E: list-item
    async with Client(server) as client:
        client.call_tool("add")  # E: unused-coroutine
        await client.call_tool("add", [1])  # E: arg-type
        await client.call_tool("add", on_progress=lambda progress: None)  # E: arg-type, misc
        await client.get_prompt("x", {"a": 1})  # E: dict-item
        client.subscribe("shop://all", lists=["owls"])  # E: list-item
        client.revision = "2026-07-28"  # E: misc
    Elicited("refuse")  # E: arg-type


# The lifespan


async def never_yields(server: Server) -> int:
    return 1


async def not_decorated(server: Server) -> AsyncIterator[int]:
    yield 1


@asynccontextmanager
async def without_server() -> AsyncIterator[int]:
    yield 1


Server("shop", lifespan=never_yields)  # E: arg-type
Server("shop", lifespan=not_decorated)  # E: arg-type
Server("shop", lifespan=without_server)  # E: arg-type


@server.tool
async def misspelt_state(ctx: Context[Page]) -> int:
    return ctx.state.limits  # E: attr-defined, no-any-return
