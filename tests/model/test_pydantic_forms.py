"""Forms by pydantic models: their schemas, and the values that come back."""

import asyncio
import dataclasses
import enum
import json
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, EmailStr, Field, field_validator, model_validator

from accord import Context, ContractError, Elicit, Elicited, Server
from accord.client import Client
from accord.model.forms import InvalidContent
from accord.revisions import REVISIONS

OLD, TITLED = REVISIONS["2025-06-18"], REVISIONS["2026-07-28"]


class Colour(enum.Enum):
    DARK_RED = "r"
    BLUE = "b"


class Guest(BaseModel):
    name: str = Field(min_length=2, title="Your name")
    mail: EmailStr | None = None
    colour: Colour = Colour.BLUE
    likes: list[Literal["tea", "coffee"]] = []
    born: date = Field(alias="bornOn", description="Date of birth")
    count: int = Field(1, gt=0)

    @field_validator("name")
    @classmethod
    def is_not_root(cls, value: str) -> str:
        if value == "root":
            raise ValueError("root is not a guest")
        return value


class Stay(BaseModel):
    start: date
    end: date

    @model_validator(mode="after")
    def check(self) -> "Stay":
        if self.end < self.start:
            raise ValueError("end must not be before start")
        return self


@dataclasses.dataclass
class Sized:
    size: Annotated[int, Field(ge=1)]


class Nested(BaseModel):
    guest: Guest


CHOICES = [{"const": "r", "title": "Dark Red"}, {"const": "b", "title": "Blue"}]
FORMS: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "a model": (
        Guest,
        {
            "name": {"type": "string", "minLength": 2, "title": "Your name"},
            "mail": {"type": "string", "format": "email"},
            "colour": {"type": "string", "oneOf": CHOICES, "default": "b"},
            "likes": {
                "type": "array",
                "items": {"type": "string", "enum": ["tea", "coffee"]},
                "default": [],
            },
            "bornOn": {"type": "string", "format": "date", "description": "Date of birth"},
            "count": {"type": "integer", "exclusiveMinimum": 0, "default": 1},
        },
        ["name", "bornOn"],
    ),
    "a dataclass with a Field": (Sized, {"size": {"type": "integer", "minimum": 1}}, ["size"]),
    "one field": (EmailStr, {"value": {"type": "string", "format": "email"}}, ["value"]),
    "one bounded field": (
        Annotated[int, Field(gt=0)],
        {"value": {"type": "integer", "exclusiveMinimum": 0}},
        ["value"],
    ),
}


@pytest.mark.parametrize(("asked", "properties", "required"), FORMS.values(), ids=FORMS)
def test_a_model_is_a_form(asked: Any, properties: Any, required: list[str]) -> None:
    assert Elicit("?", asked).params(TITLED)["requestedSchema"] == {
        "type": "object",
        "properties": properties,
        "required": required,
    }


def test_several_choices_need_a_client_that_knows_them() -> None:
    assert Elicit("?", Guest).lacks({"elicitation": {}}, OLD) is not None
    assert Elicit("?", Guest).lacks({"elicitation": {}}, TITLED) is None
    assert Elicit("?", Stay).lacks({"elicitation": {}}, OLD) is None


READ: dict[str, tuple[Any, Any, Any]] = {
    "a model": (
        Guest,
        {"name": "Ada", "bornOn": "1815-12-10", "colour": "r"},
        Guest.model_validate({"name": "Ada", "bornOn": "1815-12-10", "colour": "r"}),
    ),
    "a dataclass": (Sized, {"size": 2}, Sized(2)),
    "one field": (EmailStr, {"value": "ada@example.com"}, "ada@example.com"),
}


@pytest.mark.parametrize(("asked", "content", "value"), READ.values(), ids=READ)
def test_the_content_is_a_model(asked: Any, content: Any, value: Any) -> None:
    answer = json.dumps({"action": "accept", "content": content}).encode()
    assert Elicit("?", asked).read(answer) == Elicited("accept", value)


WRONG: dict[str, tuple[Any, Any, str]] = {
    "every field": (
        Guest,
        {"name": 1},
        "name must be a string, not an integer; bornOn is required",
    ),
    "nothing": (Guest, {}, "name is required; bornOn is required"),
    "a validator": (
        Guest,
        {"name": "root", "bornOn": "1815-12-10"},
        "name is not valid: root is not a guest",
    ),
    "a validator of the model": (
        Stay,
        {"start": "2026-01-02", "end": "2026-01-01"},
        "content is not valid: end must not be before start",
    ),
    "a dataclass": (Sized, {"size": 0}, "size must be at least 1"),
    "one field": (EmailStr, {"value": "x"}, "value must be a valid email address"),
    "no field": (EmailStr, {}, "value is required"),
}


@pytest.mark.parametrize(("asked", "content", "words"), WRONG.values(), ids=WRONG)
def test_wrong_content_is_said_with_every_field(asked: Any, content: Any, words: str) -> None:
    answer = json.dumps({"action": "accept", "content": content}).encode()
    with pytest.raises(InvalidContent) as caught:
        Elicit("?", asked).read(answer)
    assert str(caught.value) == words


@pytest.mark.parametrize("asked", [Nested, list[Guest], dict[str, Guest]])
def test_a_form_is_flat(asked: Any) -> None:
    with pytest.raises(ContractError, match="neither text, a number, yes or no, nor a choice"):
        Elicit("?", asked)


def test_a_client_fills_in_a_model() -> None:
    server = Server("inn")

    @server.tool
    async def book(context: Context) -> str:
        answer = await context.elicit("When?", Stay)
        assert answer.data is not None
        return f"{(answer.data.end - answer.data.start).days} nights"

    async def run() -> Any:
        content = {"start": "2026-01-01", "end": "2026-01-03"}
        async with Client(server, on_elicit=lambda question: content) as client:
            return await client.call_tool("book")

    assert asyncio.run(run()).value == "2 nights"
