"""What a user writes, and `mypy --strict` accepts."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, assert_type

from accord import (
    Answer,
    Caller,
    Client,
    Completion,
    Context,
    Elicit,
    Elicited,
    ElicitRequest,
    Embedded,
    FieldError,
    Header,
    Image,
    ListRoots,
    MCPError,
    Message,
    Notice,
    Page,
    Problem,
    Reading,
    Root,
    Sample,
    Sampled,
    SampleRequest,
    Server,
    TokenVerifier,
)
from accord.auth import TokenRequest
from accord.client import ListChanged, Reply, ToolInfo, Updated

server = Server("shop", version="1.0", title="Shop", instructions="Be kind", page_size=20)
server.asgi(path="/tools", allow_hosts=("shop.example",), grace=1)
verifier = TokenVerifier("https://as.example", "https://shop.example/mcp", scopes=["shop:read"])
guarded = Server("guarded", auth=verifier)
guarded.asgi(auth=verifier, public_url="https://shop.example", scopes=("shop:read",))


class Users:
    async def verify(self, token: str, request: TokenRequest) -> Caller | None:
        return Caller(issuer="users", subject="zoe", scopes=frozenset({"shop:read"}))


Server("own", auth=Users())


@guarded.tool(scopes=["shop:write"], hidden=True)
def restock_by(item: str, context: Context) -> str:
    caller = context.caller
    assert_type(caller, Caller | None)
    return f"{caller.subject} {sorted(caller.scopes)}" if caller else context.caller_key


@dataclass
class Order:
    id: int
    total: float = 0


@server.tool
def add(a: int, b: int = 2) -> int:
    return a + b


@server.tool
async def later(a: int) -> str:
    return str(a)


@server.tool()
def bare() -> None: ...


@server.tool(
    name="list_orders",
    title="Orders",
    description="All orders",
    read_only=True,
    destructive=False,
    idempotent=True,
    open_world=False,
    strict=True,
    profile="plain",
)
async def orders(customer: str, context: Context) -> Answer[list[Order]]:
    await context.progress(1, total=2, message=f"{context.tool} in {context.revision}")
    context.require("sampling", "roots")
    if context.cancelled or "sampling" not in context.client.capabilities:
        raise Problem.timeout("Nobody waits")
    page = Page(offset=0, limit=10, has_more=False)
    return Answer([Order(1)], page=page, warnings=["stale", Notice("old", code="OLD")])


@server.tool
def words() -> Answer[None]:
    return Answer(message="Done", partial=True)


@server.tool
def refuse(id: int) -> Order:
    if id < 0:
        raise Problem.validation("No such id", fields=[FieldError("id", "must be positive")])
    if id > 9:
        raise Problem("Busy", kind="rate_limit", code="BUSY", retryable=True, retry_after=1.5)
    raise Problem.not_found(f"No order {id}", remediation="call list_orders first")


# A tool stays the function that it was.
assert_type(add(1, b=2), int)
assert_type(Answer(5), Answer[int])
assert_type(Answer(5).data, int)
assert_type(Problem.conflict("Taken"), Problem)
assert_type(Problem.conflict("Taken").fields, tuple[FieldError, ...])


async def use() -> None:
    assert_type(await later(1), str)


@server.resource("shop://orders/{id}", watched=True, mime_type="application/json", fresh_for=2.5)
async def order_as_resource(id: int, context: Context) -> dict[str, int]:
    return {"id": id}


@server.resource("shop://all")
def all_orders() -> list[Embedded]:
    return [Embedded("shop://all/1", b"x")]


@server.prompt
def recommend(item: str, tone: Literal["dry", "warm"] = "dry") -> list[str | Message]:
    return [item, Message(Image(b"", "image/png"), "assistant")]


@server.prompt(name="short", title="Short")
async def short() -> str:
    return "x"


@server.completion("recommend", "item")
async def items(value: str, others: dict[str, str]) -> Completion | list[str]:
    return [value, *others]


@server.tool
async def mixed(region: Annotated[str, Header("Region")]) -> list[str | Image]:
    return [region, Image(b"", "image/png")]


@server.tool
async def ask(context: Context) -> str:
    await context.log("info", {"a": 1}, logger="shop")
    assert_type(await context.elicit("?", Order), Elicited[Order])
    assert_type((await context.elicit("?", str)).data, str | None)
    await context.elicit("?", Literal["a", "b"])
    await context.elicit("?", {"type": "object", "properties": {}})
    assert_type(await context.elicit_url("?", "https://example.org"), Elicited[None])
    assert_type(await context.sample(["?", Message("!", "assistant")], max_tokens=3), Sampled)
    assert_type(await context.roots(), list[Root])
    said = await context.ask(a=Elicit("?", Order), b=Sample("?"), c=ListRoots())
    return str(said["a"].data) if context.can("sampling") else "x"


server.updated("shop://all")
server.remove(server.resources["shop://all"])
server.add(server.prompts["short"])


async def check() -> None:
    assert_type(await server.call("add", {"a": 1}, profile="envelope"), Reading)


def answer_form(request: ElicitRequest) -> dict[str, str] | Elicited[Order]:
    assert_type(request.schema, dict[str, Any] | None)
    assert_type(request.url, str | None)
    return Elicited("accept", Order(1)) if request.url is None else {"id": request.message}


async def answer_page(request: ElicitRequest) -> Elicited[None]:
    return Elicited("decline")


async def generate(request: SampleRequest) -> str | Sampled:
    return request.text


def report(progress: float, total: float | None, message: str | None) -> None: ...


async def use_client() -> None:
    async with Client(
        server,
        on_elicit=answer_form,
        on_sample=generate,
        roots=[Root("file:///srv"), "file:///tmp", Path("/etc")],
        on_log=lambda message: print(message.level, message.data),
        log_level="debug",
        timeout=5,
        revision="2026-07-28",
    ) as client:
        assert_type(client, Client)
        assert_type(client.revision, str)
        assert_type(client.server_info, dict[str, Any])
        assert_type(await client.call_tool("add", {"a": 1}, on_progress=report), Reading)
        assert_type(await client.call_tool_raw("add", timeout=2), Reply)
        assert_type(await client.list_tools(), list[ToolInfo])
        assert_type([tool async for tool in client.list_tools()], list[ToolInfo])
        assert_type((await client.list_prompts())[0].arguments, Sequence[dict[str, Any]])
        assert_type((await client.list_resources())[0].uri, str)
        assert_type((await client.list_resource_templates())[0].uri_template, str)
        assert_type(
            (await client.get_prompt("recommend", {"item": "x"})).messages, Sequence[Message]
        )
        assert_type(await client.read_resource("shop://all"), list[Embedded])
        assert_type(await client.complete("recommend", "item", "a"), Completion)
        async with client.subscribe("shop://all", lists=["tools"]) as changes:
            async for change in changes:
                assert_type(change, ListChanged | Updated)
        await client.set_log_level("error")
        await client.set_roots([])
        try:
            await client.request("tools/list", {})
        except MCPError as error:
            assert_type(error.code, int)
    Client(["python", "server.py"], env={"A": "b"}, cwd=Path("/srv"), on_elicit=answer_page)
    Client("https://example.org/mcp", headers={"Authorization": "Bearer x"}, era="handshake")


if __name__ == "__main__":
    server.run()


# The lifespan


@dataclass
class Shop:
    name: str


@asynccontextmanager
async def open_shop(server: Server) -> AsyncIterator[Shop]:
    yield Shop(server.identity.name)


@contextmanager
def open_plainly(server: Server) -> Iterator[Shop]:
    yield Shop(server.identity.name)


opened = Server("shop", lifespan=open_shop)
Server("shop", lifespan=open_plainly)
Server("shop", lifespan=lambda server: nullcontext(server.identity.name))


@opened.tool
async def shop_name(ctx: Context[Shop]) -> str:
    assert_type(ctx.state, Shop)
    return ctx.state.name


@opened.tool
def any_state(ctx: Context) -> str:
    assert_type(ctx.state, Any)
    return str(ctx.state)


async def within() -> None:
    async with opened.lifespan() as state:
        assert_type(state, Any)
    async with opened.asgi().lifespan() as nothing:
        assert_type(nothing, None)
