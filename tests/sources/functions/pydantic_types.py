"""Sample types of pydantic, and of other kinds that hold them."""

import dataclasses
import enum
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

import pydantic.dataclasses
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    PrivateAttr,
    RootModel,
    SecretStr,
    computed_field,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)
from typing_extensions import TypedDict

T = TypeVar("T")


class Metal(enum.Enum):
    TIN = "tin"
    GOLD = "gold"


class Item(BaseModel):
    """An item of the shop."""

    sku: str = Field(min_length=2, max_length=8, pattern="^[a-z]+$")
    quantity: int = Field(gt=0, le=99, description="How many")
    price: float = 1.5


class Order(BaseModel):
    number: int
    lines: list[Item] = Field(min_length=1, max_length=3)
    note: str | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Household(BaseModel):
    pet: Pet
    other: Cat | Dog | None = None
    by_name: dict[str, Pet] = {}


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: int


class Tags(RootModel[list[str]]):
    pass


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    count: int
    day: date | None = None


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Aliased(BaseModel):
    first_name: str = Field(alias="firstName")
    last_name: str = Field(validation_alias="surname", serialization_alias="familyName")
    nick: str = Field("", validation_alias=AliasChoices("nick", "handle"))


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    user_id: int = Field(alias="userId")


class Booking(BaseModel):
    start: date
    end: date
    guests: int = 1

    @field_validator("guests")
    @classmethod
    def check_guests(cls, value: int) -> int:
        if value > 4:
            raise ValueError("the room has four beds")
        if value == 0:
            raise AssertionError
        return value

    @model_validator(mode="after")
    def check_days(self) -> "Booking":
        if self.end <= self.start:
            raise ValueError("end must be after start")
        return self

    @computed_field  # type: ignore[prop-decorator]
    @property
    def nights(self) -> int:
        return (self.end - self.start).days


class Broken(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def look_up(cls, value: str) -> str:
        return {"a": "b"}[value]


class Everything(BaseModel):
    at: datetime
    day: date
    hour: time
    took: timedelta
    amount: Decimal
    id: UUID
    data: bytes
    tags: set[str]
    pair: tuple[int, str]
    metal: Metal
    mail: EmailStr
    page: HttpUrl
    secret: SecretStr
    anything: Any = None
    shared: ClassVar[int] = 3
    _hidden: int = PrivateAttr(default=1)


class Temperature(BaseModel):
    celsius: float

    @field_serializer("celsius")
    def rounded(self, value: float) -> float:
        return round(value, 1)


class Point(BaseModel):
    x: int
    y: int

    @model_serializer
    def as_text(self) -> str:
        return f"{self.x};{self.y}"


@dataclasses.dataclass
class Parcel:
    item: Item
    weight: Annotated[float, Field(gt=0)] = 1.0
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Bounded:
    size: Annotated[int, Field(ge=1, description="The size")]


class Labelled(TypedDict):
    item: Item
    label: str


class Pair(NamedTuple):
    first: Item
    second: int


@dataclasses.dataclass
class Plain:
    a: int
    b: str = "b"


class Outer(BaseModel):
    plain: Plain
    plains: list[Plain] = []


@pydantic.dataclasses.dataclass
class Checked:
    count: int = Field(gt=0)

    @field_validator("count")
    @classmethod
    def is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


def _no_space(value: str) -> str:
    if " " in value:
        raise ValueError("must not have spaces")
    return value.lower()


Word = Annotated[str, AfterValidator(_no_space)]
