"""JSON Schemas of serializers and filters: detailed for input, guaranteed for output."""

import json
import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import django_filters
import jsonschema_rs
import pytest
from django.conf import settings
from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django.test import override_settings
from django.urls import include, path
from django.utils.translation import gettext_lazy
from rest_framework import serializers, viewsets
from rest_framework.permissions import AllowAny
from rest_framework.routers import SimpleRouter

from accord.django import project
from accord.django.views import EndpointSettings, find_tools
from accord.model.tool import Tool
from accord.sources.drf import SkippedWarning, build, routes_of
from accord.sources.drf.build import BuildOptions, ViewCaller, to_json
from accord.sources.drf.fields import SchemaBuilder
from drf.mcp_clients import Client
from storefront.models import Category, Customer, Order, Product
from storefront.serializers import CustomerSerializer, OrderSerializer


class Point(serializers.Field):
    def to_representation(self, value: Any) -> str:
        return f"{value}"


class Shouted(serializers.CharField):
    def to_representation(self, value: Any) -> Any:
        return [value.upper()]


class Everything(serializers.Serializer):
    text = serializers.CharField(max_length=9, min_length=2, help_text="A word")
    blank = serializers.CharField(allow_blank=True, min_length=2)
    maybe = serializers.CharField(required=False, allow_null=True)
    usual = serializers.IntegerField(default=7, min_value=1, max_value=9)
    real = serializers.FloatField(min_value=0.5)
    price = serializers.DecimalField(max_digits=5, decimal_places=2)
    flag = serializers.BooleanField()
    email = serializers.EmailField()
    url = serializers.URLField()
    uuid = serializers.UUIDField()
    slug = serializers.SlugField()
    word = serializers.RegexField(r"^[a-z]+\Z")
    odd = serializers.CharField(validators=[RegexValidator(r"(?<!x)(?P<a>y)(?P=a)")])
    day = serializers.DateField()
    moment = serializers.DateTimeField()
    time = serializers.TimeField()
    local = serializers.DateField(input_formats=["%d.%m.%Y"], format="%d.%m.%Y")
    length = serializers.DurationField()
    choice = serializers.ChoiceField([("a", "A"), ("b", "B")], allow_blank=True)
    none = serializers.ChoiceField([1, 2], allow_null=True)
    several = serializers.MultipleChoiceField(choices=["x", "y"])
    file = serializers.FileField()
    image = serializers.ImageField(required=False)
    tags = serializers.ListField(child=serializers.CharField(), max_length=3)
    scores = serializers.DictField(child=serializers.IntegerField())
    anything = serializers.JSONField()
    made = serializers.SerializerMethodField()
    hidden = serializers.HiddenField(default=1)
    secret = serializers.CharField(write_only=True, validators=[MaxLengthValidator(4)])
    shown = serializers.CharField(read_only=True)
    one = serializers.PrimaryKeyRelatedField(queryset=Customer.objects.all())
    by_name = serializers.SlugRelatedField("sku", queryset=Product.objects.all())
    link = serializers.HyperlinkedRelatedField("x", queryset=Customer.objects.all())
    label = serializers.StringRelatedField()
    many = serializers.PrimaryKeyRelatedField(queryset=Order.objects.all(), many=True)
    nested = CustomerSerializer()
    lines = CustomerSerializer(many=True, required=False)

    def get_made(self, _: Any) -> Any: ...


IN: dict[str, Any] = {
    "text": {"type": "string", "minLength": 2, "maxLength": 9, "description": "A word"},
    "blank": {"anyOf": [{"type": "string", "minLength": 2}, {"const": ""}]},
    "maybe": {"type": ["string", "null"], "minLength": 1},
    "usual": {"type": "integer", "minimum": 1, "maximum": 9, "default": 7},
    "real": {"type": "number", "minimum": 0.5},
    "price": {"type": ["string", "number"]},
    "flag": {"type": "boolean"},
    "email": {"type": "string", "format": "email", "minLength": 1},
    "url": {"type": "string", "format": "uri", "minLength": 1},
    "uuid": {"type": "string", "format": "uuid"},
    "slug": {"type": "string", "minLength": 1, "pattern": "^[-a-zA-Z0-9_]+$"},
    "word": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$"},
    "odd": {"type": "string", "minLength": 1},
    "day": {"type": "string", "format": "date"},
    "moment": {"type": "string", "format": "date-time"},
    "time": {"type": "string", "format": "time"},
    "local": {"type": "string"},
    "length": {"type": "string"},
    "choice": {"enum": ["a", "b", ""]},
    "none": {"enum": [1, 2, None]},
    "several": {"type": "array", "items": {"enum": ["x", "y"]}, "uniqueItems": True},
    "tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 3},
    "scores": {"type": "object", "additionalProperties": {"type": "integer"}},
    "anything": {},
    "secret": {"type": "string", "minLength": 1, "maxLength": 4},
    "one": {"type": "integer"},
    "by_name": {"type": "string"},
    "link": {"type": "string", "format": "uri"},
    "many": {"type": "array", "items": {"type": "integer"}},
}
CUSTOMER_IN = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 100},
        "email": {"type": "string", "format": "email", "minLength": 1, "maxLength": 254},
    },
    "required": ["name", "email"],
}
CUSTOMER_OUT = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "email": {"type": "string"},
    },
}


def described(side: Any, serializer: Any) -> Any:
    said: list[str] = []
    schema = SchemaBuilder(side, lambda reason, *_: said.append(reason)).object_schema(serializer)
    assert said == []
    jsonschema_rs.validator_for(schema)
    return schema


@pytest.mark.parametrize("name", IN)
def test_a_field_is_described_as_closely_as_it_is_declared(name: str) -> None:
    assert described("in", Everything())["properties"][name] == IN[name]


def test_a_body_has_the_writable_fields_only() -> None:
    schema = described("in", Everything())
    left = {"made", "hidden", "shown", "label"}
    assert schema["properties"].keys() == Everything().fields.keys() - left
    assert set(schema["properties"]) - set(schema["required"]) == {
        "maybe",
        "usual",
        "image",
        "lines",
    }
    assert "required" not in described("in", Everything(partial=True))


def test_nested_serializers_are_described_inside() -> None:
    properties = described("in", Everything())["properties"]
    assert properties["nested"] == CUSTOMER_IN
    assert properties["lines"] == {"type": "array", "items": CUSTOMER_IN}
    file = properties["file"]
    assert (file["type"], file["required"]) == ("object", ["name", "content"])


def test_an_output_schema_has_no_bounds_and_allows_null() -> None:
    properties = described("out", Everything())["properties"]
    assert "secret" not in properties
    assert "hidden" not in properties
    assert properties["text"] == {"type": ["string", "null"], "description": "A word"}
    assert properties["choice"] == properties["made"] == properties["anything"] == {}
    assert properties["local"] == {}
    assert properties["price"] == {"type": ["string", "null"]}
    assert properties["file"] == {"type": ["string", "null"]}
    assert properties["time"] == properties["email"] == {"type": ["string", "null"]}
    assert properties["day"] == {"type": ["string", "null"], "format": "date"}
    assert properties["shown"] == {"type": ["string", "null"]}
    assert described("out", CustomerSerializer()) == CUSTOMER_OUT


def test_a_field_with_its_own_to_representation_has_no_output_type() -> None:
    class Loud(serializers.Serializer):
        name = Shouted()

    assert described("out", Loud())["properties"] == {"name": {}}
    assert described("in", Loud())["properties"] == {"name": {"type": "string", "minLength": 1}}


def test_a_field_of_unknown_type_may_be_anything_and_is_reported() -> None:
    class Map(serializers.Serializer):
        where = Point()

    said: list[str] = []
    schema = SchemaBuilder("in", lambda reason, *_: said.append(reason)).object_schema(Map())
    assert schema["properties"]["where"] == {}
    assert said == [f"the type of field 'where' is unknown: {__name__}.Point"]


def test_a_recursive_serializer_is_cut() -> None:
    class Tree(serializers.Serializer):
        name = serializers.CharField()

        def get_fields(self) -> Any:
            return super().get_fields() | {"children": Tree(many=True, required=False)}

    schema = described("in", Tree())
    twice = schema["properties"]["children"]["items"]["properties"]["children"]
    assert twice == {"type": "array", "items": {"type": "object"}}


def test_defaults_of_a_model_are_defaults_of_a_body() -> None:
    class ProductSerializer(serializers.ModelSerializer):
        class Meta:
            model = Product
            fields = ["sku", "category"]

    properties = described("in", ProductSerializer())["properties"]
    assert properties["category"] == {"enum": ["home", "lab"], "default": "home"}
    assert properties["sku"]["description"] == "Two letters and a number: EN-1"
    assert properties["sku"]["pattern"] == "^[A-Z]{2}-[0-9]+$"


# Queries


class ProductFilter(django_filters.FilterSet):
    price = django_filters.RangeFilter(help_text="From and to")
    since = django_filters.DateFromToRangeFilter(field_name="id")
    named = django_filters.BooleanFilter(field_name="name", lookup_expr="isnull")
    kinds = django_filters.MultipleChoiceFilter(choices=Category.choices)
    kind = django_filters.ChoiceFilter(choices=Category.choices)
    ids = django_filters.BaseInFilter(field_name="id")
    count = django_filters.NumberFilter(field_name="id", required=True)
    owner = django_filters.ModelChoiceFilter(queryset=Customer.objects.all(), method="pass_by")

    def pass_by(self, queryset: Any, name: str, value: Any) -> Any:
        return queryset


class Broken(django_filters.rest_framework.DjangoFilterBackend):
    def get_filterset_class(self, view: Any, queryset: Any = None) -> Any:
        raise RuntimeError("not today")


class Declared:
    """A backend that says itself what it takes."""

    def get_schema_operation_parameters(self, view: Any) -> Any:
        return [{"name": "near", "in": "query", "schema": {"type": "number"}, "description": "km"}]

    def filter_queryset(self, request: Any, queryset: Any, view: Any) -> Any:
        return queryset


class Filtered(viewsets.ReadOnlyModelViewSet):
    queryset = Product.objects.all()
    serializer_class = CustomerSerializer
    permission_classes = [AllowAny]
    filter_backends = [django_filters.rest_framework.DjangoFilterBackend, Declared]
    filterset_class = ProductFilter


class Half(Filtered):
    filter_backends = [Broken, Declared]


def tools_of(**views: Any) -> dict[str, Tool]:
    router = SimpleRouter()
    for name, view in views.items():
        router.register(name, view, basename=name)

    class Urls:
        urlpatterns = [path("", include(router.urls))]

    with override_settings(ROOT_URLCONF=Urls):
        options = BuildOptions(output_schemas=True)
        return {each.tool.name: each.tool for each in build(routes_of(), ViewCaller(), options)}


def query_of(tool: Tool) -> Any:
    return tool.input_schema["properties"]["query"]


def test_a_query_has_the_typed_parameters_of_the_filters() -> None:
    query = query_of(tools_of(things=Filtered)["things_list"])
    properties = {name: dict(schema) for name, schema in query["properties"].items()}
    labels = {name: schema.pop("description", None) for name, schema in properties.items()}
    assert properties == {
        "price_min": {"type": "number"},
        "price_max": {"type": "number"},
        "since_after": {"type": "string", "format": "date"},
        "since_before": {"type": "string", "format": "date"},
        "named": {"type": "boolean"},
        "kinds": {"type": "array", "items": {"enum": ["home", "lab"]}},
        "kind": {"enum": ["home", "lab"]},
        "ids": {"type": "array", "items": {}},
        "count": {"type": "number"},
        "owner": {"type": "integer"},
        "near": {"type": "number"},
    }
    assert (labels["price_min"], labels["near"]) == ("From and to", "km")
    assert query["required"] == ["count"]


def test_a_backend_that_raises_is_skipped_with_a_warning() -> None:
    with pytest.warns(SkippedWarning, match="the parameters of Broken are unknown: RuntimeError"):
        tools = tools_of(half=Half)
    assert query_of(tools["half_list"])["properties"].keys() == {"near"}


def test_lists_are_encoded_as_the_filter_parses_them() -> None:
    from accord.sources.drf.requests import query_string

    given = {"ids": [1, 2], "kinds": ["a", "b"], "x": 1.5}
    assert query_string(given, frozenset({"ids"})) == "ids=1%2C2&kinds=a&kinds=b&x=1.5"


def test_the_lists_of_the_example_have_query_parameters() -> None:
    tools = {tool["name"]: tool["inputSchema"] for tool in Client().list_tools()}
    customers = tools["customers_list"]["properties"]["query"]["properties"]
    assert customers["search"]["description"] == "Search term, in name, email"
    assert customers["ordering"]["description"].startswith(
        "Sort fields, comma-separated, descending with a minus: name, email"
    )
    products = tools["products_list"]["properties"]["query"]["properties"]
    assert (products["page"]["type"], products["page_size"]["type"]) == ("integer", "integer")
    assert products["category"] == {"enum": ["home", "lab"]}
    one = tools["products_retrieve"]
    assert one["required"] == ["kwargs"]
    assert one["properties"]["kwargs"]["properties"]["sku"] == {
        "type": "string",
        "description": "The sku of the product",
    }
    pk = tools["customers_retrieve"]["properties"]["kwargs"]["properties"]["pk"]
    assert pk == {"type": ["integer", "string"], "description": "The pk of the customer"}


# Results


def test_lists_have_item_schemas_and_pages_have_page_properties() -> None:
    found = find_tools(EndpointSettings(output_schemas=True))
    tools = {each.tool.name: each.tool for each in found}
    assert tools["customers_list"].output.schema == {"type": "array", "items": CUSTOMER_OUT}
    page = tools["products_list"].output.schema
    assert page is not None
    assert list(page["properties"]) == ["count", "next", "previous", "results"]
    assert tools["customers_destroy"].output.schema is None
    assert tools["orders_summary"].output.schema is None


class Renamed(OrderSerializer):
    def to_representation(self, instance: Any) -> Any:
        return [super().to_representation(instance)]


def test_a_response_made_by_the_project_has_no_output_schema() -> None:
    class Own(viewsets.ModelViewSet):
        queryset = Order.objects.all()
        serializer_class = Renamed

    class Finished(Own):
        serializer_class = CustomerSerializer

        def finalize_response(self, *args: Any, **kwargs: Any) -> Any:
            return super().finalize_response(*args, **kwargs)

    tools = tools_of(own=Own, finished=Finished)
    assert {name for name, tool in tools.items() if tool.output.schema is not None} == set()


# drf-spectacular


@pytest.fixture
def documented(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A viewset of a project that has drf-spectacular set up."""
    rest = {**settings.REST_FRAMEWORK, "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema"}
    with override_settings(REST_FRAMEWORK=rest):
        yield documented_viewset(monkeypatch)


def documented_viewset(monkeypatch: pytest.MonkeyPatch) -> Any:
    from drf_spectacular.utils import OpenApiParameter, extend_schema
    from rest_framework.decorators import action
    from rest_framework.response import Response

    from accord.sources.drf import spectacular

    class Note(serializers.Serializer):
        text = serializers.CharField(max_length=5, allow_null=True)
        id = serializers.IntegerField(read_only=True)
        key = serializers.CharField(write_only=True)
        scan = serializers.FileField(required=False)

    class Documented(viewsets.ModelViewSet):
        queryset = Customer.objects.all()
        serializer_class = CustomerSerializer

        @extend_schema(
            request=Note,
            responses=Note,
            parameters=[OpenApiParameter("loud", bool, description="Shout")],
            description="Leave a note, loudly or not.",
        )
        @action(detail=True, methods=["post"])
        def note(self, request: Any, pk: str) -> Response:
            """Leave a note."""
            return Response({})

        @action(detail=False)
        def guessed(self, request: Any) -> Response:
            return Response("anything")

        @extend_schema(exclude=True)
        @action(detail=False)
        def unsaid(self, request: Any) -> Response:
            return Response("anything")

    monkeypatch.setattr(spectacular, "_is_installed", lambda: True)
    return Documented


def test_schemas_of_drf_spectacular_are_used(documented: Any) -> None:
    tools = tools_of(docs=documented)
    note = tools["docs_note"]
    body = note.input_schema["properties"]["body"]
    assert body["properties"].keys() == {"text", "key", "scan"}
    text = body["properties"]["text"]
    assert text == {"type": ["string", "null"], "minLength": 1, "maxLength": 5}
    assert body["properties"]["scan"]["required"] == ["name", "content"]
    assert set(body["required"]) == {"text", "key"}
    assert query_of(note)["properties"]["loud"] == {"type": "boolean", "description": "Shout"}
    assert note.description == "Leave a note, loudly or not."
    assert tools["docs_list"].description == "List every customer."
    assert tools["docs_guessed"].output.schema is None
    assert "docs_unsaid" in tools


def test_output_schemas_of_drf_spectacular_have_no_constraints(documented: Any) -> None:
    tools = tools_of(docs=documented)
    said = tools["docs_note"].output.schema
    assert said == {"properties": {"text": {}, "id": {}, "scan": {}}}
    listed = tools["docs_list"].output.schema  # which is the REST framework's own code
    assert listed == {"type": "array", "items": CUSTOMER_OUT}


def test_values_of_django_become_json_values() -> None:
    class Size(models.IntegerChoices):
        SMALL = 1, "small"

    schema = {
        "maximum": Decimal("5000"),
        "minimum": Decimal("0.5"),
        "description": gettext_lazy("A size"),
        "enum": (Size.SMALL, None),
        1: [{"title": gettext_lazy("Size")}],
    }
    assert json.loads(json.dumps(to_json(schema))) == {
        "maximum": 5000,
        "minimum": 0.5,
        "description": "A size",
        "enum": [1, None],
        "1": [{"title": "Size"}],
    }


def test_a_missing_file_is_null_even_if_its_column_is_not_nullable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Product._meta.get_field("photo"), "null", False)

    class Photo(serializers.ModelSerializer):
        class Meta:
            model = Product
            fields = ["photo"]

    (photo,) = described("out", Photo())["properties"].values()
    assert photo == {"type": ["string", "null"]}
    assert Photo(Product(photo="")).data == {"photo": None}


def test_a_bound_that_is_a_decimal_is_a_number() -> None:
    class Price(serializers.Serializer):
        amount = serializers.DecimalField(9, 2, min_value=Decimal("0.01"), max_value=Decimal(5000))

    class Priced(viewsets.GenericViewSet):
        serializer_class = Price

        def create(self, request: Any) -> Any:
            raise NotImplementedError

    body = tools_of(prices=Priced)["prices_create"].input_schema["properties"]["body"]
    amount = body["properties"]["amount"]
    assert amount == {"type": ["string", "number"], "minimum": 0.01, "maximum": 5000}
    assert isinstance(amount["maximum"], int)


def test_an_unknown_field_type_is_reported_once() -> None:
    class Map(serializers.Serializer):
        where = Point()
        whence = Point()

    class Maps(viewsets.GenericViewSet):
        serializer_class = Map

        def create(self, request: Any) -> Any:
            raise NotImplementedError

    class Charts(Maps): ...

    with pytest.warns(SkippedWarning) as said:
        tools_of(maps=Maps, charts=Charts)
    assert [str(each.message).partition(": ")[2] for each in said] == [
        f"the type of field 'where' is unknown: {__name__}.Point"
    ]


def test_a_serializer_may_read_the_request_while_described(documented: Any) -> None:
    class Curious(CustomerSerializer):
        def get_fields(self) -> Any:
            kept = super().get_fields()
            assert self.context["request"].accepted_renderer.format == "json"
            if self.context["request"].accepted_media_type != "application/json":
                kept.pop("name")
            return kept

    class Asking(documented):
        serializer_class = Curious

    for viewset in (Asking, type("Plain", (Asking,), {"schema": None})):
        body = tools_of(docs=viewset)["docs_create"].input_schema["properties"]["body"]
        assert "name" in body["properties"]


def test_serializers_are_used_if_drf_spectacular_fails(
    documented: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from accord.sources.drf import spectacular

    def fail(route: Any) -> Any:
        raise KeyError("no such component")

    monkeypatch.setattr(spectacular, "_operation", fail)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tools = tools_of(docs=documented)
    assert "drf-spectacular cannot describe it: KeyError" in str(caught[0].message)
    assert tools["docs_create"].input_schema["properties"]["body"] == CUSTOMER_IN


def test_every_schema_of_the_example_is_valid() -> None:
    for tool in project.server().tools.values():
        jsonschema_rs.validator_for(tool.input_schema)
        json.dumps(tool.input_schema)
        assert Decimal not in {type(value) for value in tool.input_schema.values()}
