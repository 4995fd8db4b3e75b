"""The output schema of a tool: that of its data in `bare` and `prose`, else that of the profile."""

import json
from typing import Any

import pytest

import wire
from accord.model import schemas
from profiles.one_tool import ABSENT, V1, V2, V5, listed, problem, reply, saying

each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)

INTEGERS = {"type": "array", "items": {"type": "integer"}}
DETAILS = {"page": {"type": "object"}, "warnings": {"type": "array"}}


def wrapped(schema: Any) -> Any:
    properties = {"result": schema, **DETAILS}
    return {"type": "object", "properties": properties, "required": ["result"]}


TABLE = {
    "type": "object",
    "additionalProperties": {"type": "integer"},
    "properties": {"_accord": {}},
}
OF_DATA: dict[str, tuple[Any, Any, Any]] = {
    "a list": (list[int], wrapped(INTEGERS), {"anyOf": [INTEGERS, wrapped(INTEGERS)]}),
    "an object": (dict[str, int], TABLE, TABLE),
    "text": (str, ABSENT, ABSENT),
    "anything": (Any, ABSENT, ABSENT),
}


@each_revision
@pytest.mark.parametrize("profile", ["bare", "prose"])
@pytest.mark.parametrize(("hint", "as_object", "as_any"), OF_DATA.values(), ids=list(OF_DATA))
def test_the_schema_is_that_of_the_data(
    hint: Any, as_object: Any, as_any: Any, profile: str, revision: str
) -> None:
    schema = listed(saying(5, hint), profile, revision).get("outputSchema", ABSENT)
    assert schema == {V1: ABSENT, V2: ABSENT, V5: as_any}.get(revision, as_object)


OWN = {"envelope": "response-v2", "generic": "generic"}


@each_revision
@pytest.mark.parametrize("profile", OWN)
@pytest.mark.parametrize("hint", [Any, str, int, list[int], dict[str, int]], ids=str)
def test_the_schema_is_that_of_the_profile(hint: Any, profile: str, revision: str) -> None:
    own = schemas.load(OWN[profile])
    del own["$schema"], own["$id"]
    schema = listed(saying(5, hint), profile, revision).get("outputSchema", ABSENT)
    assert schema == (ABSENT if revision in (V1, V2) else own)


def version(said: Any) -> Any:
    return said["meta"]["version"]


def tool(said: Any) -> Any:
    return said["toolName"]


@each_revision
@pytest.mark.parametrize(
    ("profile", "mark", "value"), [("envelope", version, "response-v2"), ("generic", tool, "get")]
)
@pytest.mark.parametrize("outcome", [{"a": 1}, problem()], ids=["success", "failure"])
def test_without_structure_there_is_no_schema_and_the_text_says_it_all(
    outcome: Any, profile: str, mark: Any, value: str, revision: str
) -> None:
    server = saying(outcome, structured=False)
    said = reply(server, profile, revision)["result"]
    assert "structuredContent" not in said
    assert mark(json.loads(said["content"][0]["text"])) == value
    assert "outputSchema" not in listed(server, profile, revision)
