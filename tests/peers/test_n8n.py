"""n8n's own converter, behind its Structured Output Parser, takes our schema for the parser."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from generic_examples import EXAMPLES, LIST

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
PEERS = Path(sys.prefix, "peers")
CONVERTER = PEERS / "node_modules/@n8n/json-schema-to-zod"
SCRIPT = """
const { jsonSchemaToZod } = require("@n8n/json-schema-to-zod");
const { schema, instances } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const zod = jsonSchemaToZod(schema);
const judge = (instance) => {
  const { success, data, error } = zod.safeParse(instance);
  return { accepted: success, value: data ?? null, faults: (error?.issues ?? []).map((i) => i.path) };
};
const members = zod.constructor.name === "ZodObject" ? Object.entries(zod.shape) : [];
const types = Object.fromEntries(members.map(([n, z]) => [n, z.unwrap?.().constructor.name ?? z.constructor.name]));
console.log(JSON.stringify({ types, judgements: instances.map(judge) }));
"""
ACCEPTED: dict[str, Any] = {
    **EXAMPLES,
    "members that nobody knows": {
        **LIST,
        "region": "eu",
        "pagination": {"page": 1},
        "metadata": {"any": ["thing"]},
    },
    "members that are null": {
        "toolName": "t",
        "responseType": "action",
        "data": None,
        "pagination": None,
        "status": None,
        "error": None,
    },
}
REFUSED: dict[str, tuple[Any, list[str]]] = {
    "a wrong responseType": ({**LIST, "responseType": "table"}, ["responseType"]),
    "a missing toolName": ({"responseType": "list", "data": []}, ["toolName"]),
    "data that is text": ({**LIST, "data": "text"}, ["data"]),
    "a status that there is not": ({**LIST, "status": "done"}, ["status"]),
    "a cursor that is a number": ({**LIST, "pagination": {"cursor": 1}}, ["pagination"]),
}


class Converted(NamedTuple):
    """The result of the converter: the Zod type of each member, and its verdict on each instance."""

    types: dict[str, str]
    judgements: dict[str, Any]


@pytest.fixture(scope="module")
def converted() -> Converted:
    if not CONVERTER.exists():
        pytest.fail(f"there is no {CONVERTER}: `make test` installs it")
    schema = subprocess.check_output([BIN / "accord", "schema", "generic", "--for", "n8n"])
    instances = ACCEPTED | {name: instance for name, (instance, _) in REFUSED.items()}
    asked = {"schema": json.loads(schema), "instances": list(instances.values())}
    done = subprocess.run(
        [BIN / "node", "--eval", SCRIPT],
        cwd=PEERS,
        input=json.dumps(asked).encode(),
        capture_output=True,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    said = json.loads(done.stdout)
    return Converted(said["types"], dict(zip(instances, said["judgements"], strict=True)))


@pytest.mark.parametrize("name", ACCEPTED)
def test_it_accepts_and_hands_on_every_member(converted: Converted, name: str) -> None:
    assert converted.judgements[name] == {"accepted": True, "value": ACCEPTED[name], "faults": []}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_and_says_where(converted: Converted, name: str) -> None:
    judgement = converted.judgements[name]
    assert not judgement["accepted"]
    assert [path[:1] for path in judgement["faults"]] == [REFUSED[name][1]]


def test_no_member_loses_its_type_on_the_way_to_the_model(converted: Converted) -> None:
    assert len(converted.types) == 9
    assert "ZodAny" not in converted.types.values()
    assert "ZodEffects" not in converted.types.values(), "a refinement is shown to no model"
