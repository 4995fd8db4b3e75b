"""The document of the SQLite server, replayed against `accord serve` and a database as it shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import ACCORD
from golden.rule import differences
from golden.test_golden import FAILURES, HANDSHAKE, conversation, document
from sources.sql.shop import make
from stdio_peer import StdioPeer

requirement = pytest.mark.requirement
OURS = {  # the properties that the tools take beside the document's
    "describe_table": {"details"},
    "run_query": {"params", "limit", "cursor", "format"},
    "insert_row": {"dry_run"},
    "update_row": {"dry_run", "max_changes"},
    "delete_row": {"dry_run", "max_changes"},
}
STRUCTURES: dict[str, Any] = {
    "list tables": {"result": ["users", "posts"]},
    "run query": {"result": [{"id": 1, "name": "John Doe", "email": "john@example.com"}]},
    "insert row": {"last_insert_id": 2, "changes": 1},
    "update row": {"changes": 1},
    "delete row": {"changes": 1},
}


def replay(folder: Path, revision: str) -> dict[str, Any]:
    path = make(folder / "shop.db")
    with StdioPeer([ACCORD, "serve", str(path)]) as peer:
        return conversation(peer, document("003"), revision)


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return replay(tmp_path_factory.mktemp("seed"), "2024-11-05")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("initialize", marks=requirement("003.server.initialize")),
        pytest.param("list tables", marks=requirement("003.server.list-tables")),
        pytest.param("describe table", marks=requirement("003.server.describe-table")),
        pytest.param("run query", marks=requirement("003.server.run-query")),
        pytest.param("insert row", marks=requirement("003.server.insert-row")),
        pytest.param("update row", marks=requirement("003.server.update-row")),
        pytest.param("delete row", marks=requirement("003.server.delete-row")),
        pytest.param("query refused", marks=requirement("003.server.only-select")),
    ],
)
def test_each_reply_is_the_documents_byte_for_byte(replies: dict[str, Any], name: str) -> None:
    sent = replies[name]
    if name in FAILURES:  # the whole problem stands beside the text
        sent = {**sent, "result": {k: v for k, v in sent["result"].items() if k != "_meta"}}
    assert sent == document("003")[name]["reply"]


@requirement("003.server.tools-list")
def test_the_tools_are_the_documents_with_a_few_optional_properties(
    replies: dict[str, Any],
) -> None:
    shown = document("003")["tools list"]["reply"]["result"]["tools"]
    sent = replies["tools list"]["result"]["tools"]
    for tool, other in zip(shown, sent, strict=True):
        properties = other["inputSchema"]["properties"]
        for name in OURS.get(tool["name"], ()):
            del properties[name]
        assert other == tool
    assert json.dumps(sent) == json.dumps(shown), "and all in the document's order"


@pytest.mark.parametrize("revision", HANDSHAKE[1:])
def test_later_revisions_say_the_same_and_have_the_data_beside_it(
    tmp_path: Path, revision: str
) -> None:
    replies = replay(tmp_path, revision)
    further = ["result.structuredContent"]
    for name, structure in STRUCTURES.items():
        assert list(differences(document("003")[name]["reply"], replies[name], further)) == []
        found = replies[name]["result"].get("structuredContent", structure)
        assert found == structure
        assert ("structuredContent" in replies[name]["result"]) == (revision >= "2025-06-18")
