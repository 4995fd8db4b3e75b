"""Functions with all kinds of results, for servers of any framework; and what Accord makes of them."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel

from accord import (
    Answer,
    Envelope,
    FieldError,
    Image,
    Notice,
    Page,
    Problem,
    Reading,
    Server,
    error_response,
    success_response,
)

PROFILES = ["plain", "envelope", "bare", "prose", "generic"]


class Customer(BaseModel):
    number: int
    name: str = "Ada"


def an_object() -> dict[str, Any]:
    return {"number": 7, "tags": ["new"]}


def a_list() -> list[dict[str, int]]:
    return [{"number": 7}, {"number": 8}]


def an_empty_list() -> list[int]:
    return []


def a_number() -> int:
    return 5


def words() -> str:
    return "It rains."


def nothing() -> None:
    return None


def undeclared():  # type: ignore[no-untyped-def]
    return [1, {"a": None}]


def a_model() -> Customer:
    return Customer(number=7)


def models() -> list[Customer]:
    return [Customer(number=7), Customer(number=8, name="Bob")]


async def an_async_result() -> dict[str, int]:
    await asyncio.sleep(0)
    return {"number": 7}


def numbers() -> Answer[list[int]]:
    warnings = [Notice("prices are of yesterday", code="STALE")]
    page = Page(total=9, has_more=True, cursor="c2")
    return Answer([1, 2], page=page, warnings=warnings, message="2 of 9")


def a_picture() -> Answer[dict[str, str]]:
    return Answer({"name": "Ada"}, blocks=[Image(b"pixel", "image/png")])


def an_envelope() -> Envelope:
    return success_response(users=[1, 2], warnings=["slow"])


def a_failed_envelope() -> Envelope:
    return error_response("No user 7", type="not_found", remediation="list users")


def a_problem() -> dict[str, Any]:
    fields = [FieldError("number", "must be above 0")]
    raise Problem.validation("No such number", fields=fields, remediation="use 7")


async def a_problem_in_a_task() -> dict[str, Any]:
    raise ExceptionGroup("as of a task group", [Problem.conflict("Order 7 is locked")])


FUNCTIONS: list[Callable[..., Any]] = [
    *(an_object, a_list, an_empty_list, a_number, words, nothing, undeclared, a_model, models),
    *(an_async_result, numbers, a_picture, an_envelope, a_failed_envelope),
    *(a_problem, a_problem_in_a_task),
]
NAMES = [each.__name__ for each in FUNCTIONS]


class Meaning(NamedTuple):
    """What has to be the same, whichever server an answer comes from."""

    is_failure: bool
    value: Any
    page: Any
    warnings: list[Any]
    message: str | None


def meaning_of(reading: Reading) -> Meaning:
    return Meaning(
        reading.is_failure,
        reading.value,
        reading.page,
        [*reading.warnings],
        reading.response.message,
    )


def by_accord(profile: str) -> dict[str, Meaning]:
    """What a server of Accord says with the same functions."""
    server = Server("same", version="1.0", profile=profile)
    for each in FUNCTIONS:
        server.tool(each)

    async def main() -> dict[str, Meaning]:
        return {name: meaning_of(await server.call(name, profile=profile)) for name in NAMES}

    return asyncio.run(main())
