"""Every tool of every source, in `envelope`, over a real pipe: a success and a failure of each.

A source is a row of SOURCES: what `accord serve` takes, and for each of its tools arguments that
succeed and arguments that fail. A tool that is in no row is a failure too.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

import wire
from accord.model import schemas
from commands import ACCORD, SAMPLES
from sources.sql.shop import make
from stdio_peer import StdioPeer

requirement = pytest.mark.requirement
HERE = Path(__file__).parent
V2 = jsonschema_rs.validator_for(schemas.load("response-v2"))
Arguments = dict[str, Any]


class Calls(NamedTuple):
    """Arguments that succeed and their data; arguments that fail and the words of the error.

    A tool that takes nothing cannot be called in a wrong way.
    """

    good: Arguments
    data: dict[str, Any]
    bad: Arguments | None = None
    error: str = ""


class Source(NamedTuple):
    """The words for `accord serve`, the calls of each tool, and what to prepare."""

    words: list[str]
    tools: Mapping[str, Calls]
    prepare: Callable[[Path], object] = lambda _folder: None


THORIN: Any = {
    "character": {"name": "Thorin Ironforge", "class": "Fighter", "level": 3},
    "abilities": {
        "strength": 16,
        "dexterity": 12,
        "constitution": 15,
        "intelligence": 10,
        "wisdom": 13,
        "charisma": 8,
    },
}
EMMA = {"title": "Emma"}
GONE = {"title": "Gone"}
ALICE = {"id": 1, "name": "Alice", "email": "alice@example.com"}
NOBODY = {"table_name": "nobody"}
POSTS = {"table_name": "posts"}
_COLUMN = {"not_null": False, "primary_key": False, "default_value": None}
POSTS_DESCRIBED = POSTS | {
    "columns": [
        {"name": "id", "type": "INTEGER", **_COLUMN, "not_null": True, "primary_key": True},
        {"name": "title", "type": "TEXT", **_COLUMN},
    ],
    "create_sql": "CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT)",
}
SOURCES: dict[str, Source] = {
    "functions": Source(
        [f"{SAMPLES / 'features.py'}:shapes"],
        {
            "book": Calls(EMMA, {"title": "Emma", "pages": None}, GONE, "There is no book 'Gone'"),
            "books": Calls(
                {"limit": 1},
                {"books": [{"title": "Emma", "pages": None}]},
                {"limit": 0},
                "There is no such page",
            ),
            "titles": Calls(
                {"containing": "z"},
                {"items": []},
                {"containing": ""},
                "Say what the title contains",
            ),
            "count": Calls(
                {"author": "Austen"},
                {"result": 3},
                {"author": "anonymous"},
                "The catalogue is closed",
            ),
            "blurb": Calls(EMMA, {"result": "Emma, a novel.\n"}, GONE, "There is no book 'Gone'"),
            "lend": Calls(
                EMMA | {"days": 90}, EMMA | {"days": 30}, EMMA | {"days": 0}, "Internal error"
            ),
            "discard": Calls({"title": "Ulysses"}, {}, EMMA, "'Emma' is lent"),
            "cover": Calls(EMMA, {}, GONE, "There is no book 'Gone'"),
            "bill": Calls(
                EMMA | {"price": 4.5},
                {"Emma": 4.5},
                EMMA | {"price": -1},
                "A price is not negative",
            ),
        },
    ),
    "viewsets": Source(
        ["django:viewsets"],
        {
            "customers_list": Calls(
                {"query": {"page": 1}},
                {"items": [ALICE]},
                {"query": {"page": 2}},
                "ViewSet returned error: {'detail': 'Invalid page.'}",
            ),
            "customers_retrieve": Calls(
                {"kwargs": {"pk": 1}},
                ALICE,
                {"kwargs": {"pk": "999999"}},
                "ViewSet returned error: {'detail': 'Not found.'}",
            ),
            "customers_create": Calls(
                {"body": {"name": "Bob", "email": "bob@example.com"}},
                {"id": 2, "name": "Bob", "email": "bob@example.com"},
                {"body": {"name": "Bob"}},
                "ViewSet returned error: {'email': ['This field is required.']}",
            ),
            "customers_destroy": Calls(
                {"kwargs": {"pk": 1}},
                {},
                {"kwargs": {"pk": 2}},
                "ViewSet returned error: {'detail': 'Not found.'}",
            ),
        },
        prepare=lambda folder: shutil.copy(HERE / "viewsets.py", folder),
    ),
    "sql": Source(
        ["shop.db"],
        {
            "list_tables": Calls({}, {"tables": ["users", "posts"]}),
            "describe_table": Calls(
                POSTS, POSTS_DESCRIBED, NOBODY, 'no table "nobody"; there are "users", "posts"'
            ),
            "run_query": Calls(
                {"query": "SELECT name FROM users"},
                {"rows": [{"name": "John Doe"}]},
                {"query": "DROP TABLE users"},
                "Only SELECT queries are allowed for security reasons",
            ),
            "insert_row": Calls(
                POSTS | {"data": {"title": "Hi"}},
                {"last_insert_id": 1, "changes": 1},
                POSTS | {"data": {}},
                'data must name at least one column; "posts" has "id", "title"',
            ),
            "update_row": Calls(
                POSTS | {"data": {"title": "Ho"}, "where": {"id": 1}},
                {"changes": 1},
                POSTS | {"data": {"titel": "Ho"}, "where": {"id": 1}},
                'no column "titel" in posts; did you mean "title"?',
            ),
            "delete_row": Calls(
                POSTS | {"where": {"id": 1}},
                {"changes": 1},
                POSTS | {"where": {}},
                'where must have at least one condition; "posts" has "id", "title"',
            ),
        },
        prepare=lambda folder: make(folder / "shop.db"),
    ),
    "sheets": Source(
        ["sheets"],
        {
            "fill_dnd_character_sheet": Calls(
                {"character_data": THORIN},
                json.loads((HERE / "thorin.json").read_text()),
                {"character_data": {**THORIN, "abilities": {**THORIN["abilities"], "wisdom": 21}}},
                "Invalid character data",
            ),
        },
    ),
}


class Session:
    """One source, served in `envelope` to a client of one revision."""

    def __init__(self, peer: StdioPeer, revision: str) -> None:
        self.revision = revision
        self._ask = peer.modern if revision == wire.STATELESS else peer.request

    def list(self) -> list[Any]:
        tools: list[Any] = self._ask("tools/list")["result"]["tools"]
        return tools

    def call(self, tool: str, arguments: Arguments) -> Any:
        return self._ask("tools/call", {"name": tool, "arguments": arguments})["result"]


@pytest.fixture(
    scope="module",
    params=[(source, revision) for source in SOURCES for revision in wire.REVISIONS],
    ids=" at ".join,
)
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Source, Session]]:
    name, revision = request.param
    source = SOURCES[name]
    folder = tmp_path_factory.mktemp(name)
    source.prepare(folder)
    command = [ACCORD, "serve", *source.words, "--profile", "envelope"]
    with StdioPeer(command, cwd=folder) as peer:
        if revision != wire.STATELESS:
            peer.initialize(revision)
        yield source, Session(peer, revision)


def envelope_of(result: Any) -> Any:
    """The envelope in a result: valid, of its version, and the same in text and structure."""
    first = result["content"][0]
    assert first["type"] == "text"
    envelope = json.loads(first["text"])
    V2.validate(envelope)
    assert list(envelope) == ["success", "data", "error", "meta"]
    assert envelope["meta"]["version"] == "response-v2"
    assert result.get("structuredContent", envelope) == envelope
    assert ("isError" in result) == (not envelope["success"])
    return envelope


@requirement("001.testing.tools", "001.sources.sql", "001.sources.sheets", "001.sources.drf")
def test_every_tool_of_a_source_is_called_here(session: tuple[Source, Session]) -> None:
    source, client = session
    assert {tool["name"] for tool in client.list()} == source.tools.keys()


@requirement("001.testing.tools", "001.envelope.every-tool")
def test_each_tool_succeeds_in_the_envelope(session: tuple[Source, Session]) -> None:
    source, client = session
    for tool, calls in source.tools.items():
        envelope = envelope_of(client.call(tool, calls.good))
        assert (tool, envelope["success"], envelope["error"]) == (tool, True, None)
        assert (tool, envelope["data"]) == (tool, calls.data)


@requirement("001.testing.tools", "001.envelope.every-tool", "001.edge.missing", "001.edge.invalid")
def test_each_tool_fails_in_the_envelope(session: tuple[Source, Session]) -> None:
    source, client = session
    for tool, calls in source.tools.items():
        if calls.bad is None:
            continue
        result = client.call(tool, calls.bad)
        envelope = envelope_of(result)
        assert (tool, envelope["success"], envelope["error"]) == (tool, False, calls.error)
        assert (tool, envelope["data"]) == (tool, {})
        assert result["isError"] is True


@requirement("001.testing.tools")
def test_each_tool_tells_the_schema_of_the_envelope_where_there_is_structure(
    session: tuple[Source, Session],
) -> None:
    source, client = session
    has_structure = client.revision >= wire.STRUCTURE
    for tool in client.list():
        assert ("outputSchema" in tool) == has_structure
        if has_structure:
            schema = jsonschema_rs.validator_for(tool["outputSchema"])
            calls = source.tools[tool["name"]]
            for arguments in (calls.good, calls.good if calls.bad is None else calls.bad):
                schema.validate(client.call(tool["name"], arguments)["structuredContent"])


@requirement("001.rollout.v1")
@pytest.mark.parametrize(
    ("words", "is_v2"),
    [
        (["--profile", "envelope"], True),
        (["--contract", "v2"], True),
        (["--contract", "v1"], False),
    ],
    ids=["the profile", "v2", "v1"],
)
def test_a_server_sends_v1_only_when_it_is_told_to(words: list[str], is_v2: bool) -> None:
    functions = SOURCES["functions"]
    with StdioPeer([ACCORD, "serve", *functions.words, *words]) as peer:
        result = Session(peer, wire.STATELESS).call("count", functions.tools["count"].good)
    if is_v2:
        assert envelope_of(result)["data"] == {"result": 3}
    else:
        assert result["content"] == [{"type": "text", "text": "3"}]
