"""`tools/list` of a large project is small, and says the same."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from django.test import override_settings
from django.urls import path
from hypothesis import given
from hypothesis import strategies as st

from accord.django import endpoint
from accord.errors import ContractError
from accord.sources.drf.compact import compacted
from drf.large_project import router
from drf.mcp_clients import Client

BEFORE = 411_164
"""Bytes of `tools/list` with an output schema for each tool, and each part written out."""


def mounted(**options: Any) -> Any:
    view = endpoint(router, **options)
    return override_settings(ROOT_URLCONF=type("U", (), {"urlpatterns": [path("mcp/", view)]}))


def listed(**options: Any) -> tuple[dict[str, Any], int]:
    with mounted(**options):
        client = Client("/mcp/", revision="2025-06-18")
        size = len(client.post_message("tools/list").content)
        return {tool["name"]: tool for tool in client.list_tools()}, size


def test_the_list_of_a_large_project_is_below_half_of_its_size_before() -> None:
    tools, size = listed()
    assert len(tools) == 99
    assert size < BEFORE / 2
    assert not [name for name, tool in tools.items() if "outputSchema" in tool]


def test_output_schemas_are_an_option() -> None:
    tools, size = listed(output_schemas=True)
    assert size < BEFORE * 3 / 4
    outputs = {name for name, tool in tools.items() if "outputSchema" in tool}
    assert len(outputs) == 16 * 5  # not destroy, and not the project's own actions
    entry = tools["accounts_retrieve"]["outputSchema"]
    assert entry["properties"]["number"] == {"type": ["string", "null"]}
    assert entry["properties"]["sender"] == entry["properties"]["recipient"]
    assert entry["properties"]["sender"] == {"$ref": "#/$defs/sender"}
    address = entry["properties"]["billing_address"]
    assert entry["$defs"]["sender"]["properties"]["address"] == address
    assert entry["$defs"]["address"]["properties"]["city"]["type"] == ["string", "null"]


def test_the_guide_states_both_sizes() -> None:
    without, with_them = (round(listed(output_schemas=each)[1] / 1_000) for each in (False, True))
    guide = (Path(__file__).parents[2] / "docs/django.md").read_text()
    assert f"`tools/list` has {without} kB without and {with_them} kB with them" in guide


def test_output_schemas_of_some_tools_are_an_option() -> None:
    tools, _ = listed(output_schemas={"accounts_list", "audits_retrieve"})
    outputs = {name for name, tool in tools.items() if "outputSchema" in tool}
    assert outputs == {"accounts_list", "audits_retrieve"}
    with pytest.raises(ContractError, match="has names that no tool has: accounts_lists"):
        listed(output_schemas=["accounts_lists"])
    with pytest.raises(ContractError, match="output_schemas must be a list"):
        listed(output_schemas="accounts_list")


def test_results_have_structured_content_without_an_output_schema() -> None:
    view = endpoint()
    with override_settings(ROOT_URLCONF="storefront.urls"):
        result = Client("/mcp/").call_tool("customers_list")
    assert result["structuredContent"][0]["name"] == "Alice"
    assert view.settings.output_schemas is False


@pytest.mark.parametrize(
    ("schema", "enum"),
    [
        ({"enum": ["a", "b", "a", None, None]}, ["a", "b", None]),
        ({"enum": [1, 1.0, True, 0, False, "1"]}, [1, True, 0, False, "1"]),
        ({"oneOf": [{"enum": ["a", ""]}, {"enum": [""]}, {"enum": [None]}]}, ["a", "", None]),
        ({"anyOf": [{"enum": ["a"], "type": "string"}, {"enum": ["a"]}]}, ["a"]),
        ({"enum": [{"a": 1}, {"a": 1}]}, [{"a": 1}]),
    ],
)
def test_an_enum_has_each_value_once(schema: Any, enum: list[Any]) -> None:
    given = {"type": "object", "properties": {"x": schema}}
    found = compacted(given)["properties"]["x"]["enum"]
    assert json.dumps(found) == json.dumps(enum)


def test_alternatives_that_are_more_than_enums_stay() -> None:
    schema = {"anyOf": [{"enum": ["a"]}, {"type": "integer"}]}
    assert compacted(schema) == schema


LONG = {"type": "string", "pattern": "x" * 200}


def test_a_large_part_is_written_once_with_its_own_description() -> None:
    schema = {
        "type": "object",
        "properties": {
            "from": {**LONG, "description": "Where from"},
            "to": {**LONG, "default": "here"},
            "short": {"type": "string"},
            "other": {"type": "string"},
            "list": {"type": "array", "items": LONG},
        },
    }
    found = compacted(schema)
    assert found["$defs"] == {"from": LONG}
    reference = {"$ref": "#/$defs/from"}
    assert found["properties"] == {
        "from": {**reference, "description": "Where from"},
        "to": {**reference, "default": "here"},
        "short": {"type": "string"},
        "other": {"type": "string"},
        "list": {"type": "array", "items": reference},
    }


def test_names_of_shared_parts_are_unique_and_plain() -> None:
    parts = [{"type": "string", "pattern": each * 200} for each in "xy"]
    schema = {
        "properties": {
            each: {"properties": {"a/ä": part, "b": part}}
            for each, part in zip("pq", parts, strict=True)
        }
    }
    assert compacted(schema)["$defs"] == {"a__": parts[0], "a___2": parts[1]}


def test_a_shared_part_has_the_name_of_no_other_one() -> None:
    names = ("a_3", "a", "a", "a_2")
    parts = [{"type": "string", "pattern": each * 200} for each in "wxyz"]
    schema = {
        "properties": {
            f"{place}{copy}": {"properties": {name: part, f"own{copy}": {"type": "string"}}}
            for place, (name, part) in enumerate(zip(names, parts, strict=True))
            for copy in "pq"
        }
    }
    shared = compacted(schema)["$defs"]
    assert sorted(shared) == ["a", "a_2", "a_2_2", "a_3"]
    assert sorted(each["pattern"][0] for each in shared.values()) == ["w", "x", "y", "z"]


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {"enum": ["a", "b", "a"]},
        {"type": "string", "pattern": "^a{0,9}$", "description": "x" * 200},
        {"type": "string", "enum": ["a" * 90, "b" * 90]},
    ]
)


def _objects(inner: Any) -> Any:
    return st.dictionaries(st.sampled_from("abc"), inner).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": sorted(properties),
        }
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        _objects(inner)
        | inner.map(lambda item: {"type": "array", "items": item})
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts})
    ),
    max_leaves=12,
)
VALUES = st.recursive(
    st.sampled_from(["a", "b", 1, -1, None, "a" * 90]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
)


@given(SCHEMAS.map(lambda schema: {"properties": {"x": schema}}), VALUES)
def test_a_compacted_schema_allows_the_same_values(schema: Any, value: Any) -> None:
    before, after = (jsonschema_rs.validator_for(each) for each in (schema, compacted(schema)))
    assert before.is_valid({"x": value}) == after.is_valid({"x": value})
    assert len(json.dumps(compacted(schema))) <= len(json.dumps(schema)) + 60
