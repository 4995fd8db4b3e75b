# mypy: ignore-errors
"""What a user writes by mistake, each with the error that `mypy --strict` reports."""

from accord import Answer, Context, FieldError, Notice, Page, Problem, Server

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
