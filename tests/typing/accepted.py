"""What a user writes, and `mypy --strict` accepts."""

from dataclasses import dataclass
from typing import assert_type

from accord import Answer, Context, FieldError, Notice, Page, Problem, Server

server = Server("shop", version="1.0", title="Shop", instructions="Be kind", page_size=20)


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
