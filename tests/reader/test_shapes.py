"""What a reply is: a table of shapes, from the five documents and from common servers."""

import html
import re
from pathlib import Path
from typing import Any

import pytest

import accord.reader
from accord.model.response import Response
from accord.reader import RULES, read


def text(words: str, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **members}


Case = tuple[str | None, dict[str, Any], str, int | None]
CASES: list[Case] = [
    ("list_tables", text("Found 2 tables:\n- users\n- posts"), "list", 2),
    ("list_tables", text("Found 0 tables:"), "list", 0),
    (
        "run_query",
        text('Query executed successfully. Found 1 rows:\n[\n  {\n    "id": 1}\n]'),
        "list",
        1,
    ),
    ("run_query", text("Query executed successfully. Found 0 rows:\n[]"), "list", 0),
    (
        "insert_row",
        text("Row inserted successfully. Last insert ID: 2, Changes: 1"),
        "action",
        None,
    ),
    (
        "run_query",
        text(
            "Error executing run_query: Only SELECT queries are allowed for security reasons",
            isError=True,
        ),
        "error",
        None,
    ),
    (
        "describe_table",
        text(
            'Table: users\n{\n "table_name": "users", "columns": [{"name":"id"}], "create_sql": "x"}'
        ),
        "single",
        None,
    ),
    ("customers_list", text('[{"id": 1}]'), "list", 1),
    (
        "customers_retrieve",
        text(
            "Error executing tool: ViewSet returned error: {'detail': 'Not found.'}", isError=True
        ),
        "error",
        None,
    ),
    ("read_query", text("[{'id': 1, 'name': \"O'Brien\"}, {'id': 2, 'name': None}]"), "list", 2),
    ("write_query", text("[{'affected_rows': 1}]"), "action", None),
    ("list_directory", text("[FILE] a.txt\n[DIR] sub"), "list", 2),
    ("search_files", text("No matches found"), "list", 0),
    ("search_files", text("/tmp/a.txt\n/tmp/b.txt"), "list", 2),
    ("read_file", text("hello\nworld"), "single", None),
    (
        "read_file",
        text("ENOENT: no such file or directory, open '/x'", isError=True),
        "error",
        None,
    ),
    ("read_file", text("Error: ENOENT: no such file or directory"), "error", None),
    (
        "git_log",
        text(
            "Commit history:\nCommit: 'abc'\nAuthor: x\nDate: 1\nMessage: 'm'\n\nCommit: 'def'\nAuthor: y\nDate: 2\nMessage: 'n'\n"
        ),
        "list",
        2,
    ),
    (
        "git_status",
        text("Repository status:\nOn branch main\nnothing to commit, working tree clean"),
        "single",
        None,
    ),
    ("git_commit", text("Changes committed successfully with hash abc"), "action", None),
    ("git_branch", text("* main\n  dev"), "list", 2),
    ("read_graph", text('{"entities":[{"a":1}],"relations":[]}'), "single", None),
    ("create_entities", text('[{"name":"x"}]'), "action", None),
    ("discord_list_guilds", text('{"totalGuilds":1,"guilds":[{"id":"1"}]}'), "list", 1),
    (
        "discord_list_channels",
        text(
            '{"totalChannels":150,"showing":50,"offset":0,"limit":50,"hasMore":true,"channels":[{"id":"1"}]}'
        ),
        "list",
        1,
    ),
    (
        "discord_list_guild_members",
        text('{"guild":{"id":"1","name":"g"},"totalMembers":1,"members":[{"id":"1"}]}'),
        "list",
        1,
    ),
    (
        "discord_read_channel",
        text(
            '{"channel":{"id":"1"},"messages":[{"id":"5"}],"pagination":{"limit":50,"count":1,"oldestMessageId":"5","newestMessageId":"5","hasMore":false}}'
        ),
        "list",
        1,
    ),
    (
        "discord_list_channel_filters",
        text('{"type":"x","guild":"1","filters":{"allow":["a"],"deny":[]}}'),
        "single",
        None,
    ),
    (
        "discord_get_user_info",
        text('{"user":{"id":"1"},"status":"offline","guildCount":3}'),
        "single",
        None,
    ),
    (
        "discord_send_message",
        text('{"success":true,"messageId":"1","channelId":"2"}'),
        "action",
        None,
    ),
    (
        "discord_download_attachments",
        text(
            '{"success":true,"message":"x","totalAttachments":2,"successfulDownloads":1,"failedDownloads":1,"downloads":[{"success":true},{"success":false}]}'
        ),
        "action",
        None,
    ),
    (
        "discord_update_channel_filters",
        text('{"operation":"add","updatedFilters":{"a":1}}'),
        "action",
        None,
    ),
    (
        "x",
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Missing Access"}},
        "error",
        None,
    ),
    (None, {"tools": [{"name": "a", "inputSchema": {}}]}, "tool_catalog", 1),
    ("get_order", text('{"id":5,"items":[{"sku":1}],"total":9}'), "single", None),
    ("search", text('{"query":"x","results":[]}'), "list", 0),
    ("add", text("5"), "single", None),
    ("get_user", text('{"success": false, "error": "nope"}', isError=False), "error", None),
    ("fetch", text("Contents of http://x/:\n# Title\n- a\n- b\n"), "single", None),
    ("list_allowed_directories", text("Allowed directories:\n/tmp/corpus"), "list", 1),
    (
        "customers_list",
        text(
            '{"count":30,"next":"http://x/api/customers/?page=2","previous":null,"results":[{"id":1}]}'
        ),
        "list",
        1,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{n} {c[0]}" for n, c in enumerate(CASES)])
def test_a_reply_is_read_for_what_it_is(case: Case) -> None:
    tool, reply, kind, items = case
    reading = read(reply, tool)
    assert reading.response.response_type == kind, reading.rules
    if items is not None:
        assert len(reading.response.data) == items
        assert reading.response.summary is not None
        assert reading.response.summary.returned == items
    assert reading.raw is reply


PAGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "offset, limit and hasMore": (
        {"total": 150, "offset": 0, "limit": 50, "hasMore": True, "items": [1] * 50},
        {"offset": 0, "limit": 50, "hasMore": True, "nextOffset": 50},
    ),
    "a page that is not full": (
        {"total": 150, "offset": 0, "limit": 50, "hasMore": True, "items": [1]},
        {"offset": 0, "limit": 50, "hasMore": True},
    ),
    "a cursor": ({"items": [1], "nextCursor": "c2"}, {"hasMore": True, "nextOffset": "c2"}),
    "no cursor any more": ({"items": [1], "nextCursor": None}, {"hasMore": False}),
    "page numbers": (
        {"items": [1] * 10, "page": 2, "per_page": 10, "total_pages": 3},
        {"offset": 10, "limit": 10, "hasMore": True},
    ),
    "the last page": (
        {"items": [1], "page": 3, "per_page": 10, "total_pages": 3},
        {"offset": 20, "limit": 10, "hasMore": False},
    ),
    "links to pages": (
        {"count": 3, "next": "http://x.example/?offset=2", "previous": None, "results": [1, 2]},
        {"hasMore": True, "nextOffset": 2},
    ),
    "no further link": (
        {"count": 2, "next": None, "previous": None, "results": [1, 2]},
        {"hasMore": False},
    ),
    "ids before and after": (
        {"messages": [{"id": "5"}], "pagination": {"hasMore": True, "oldestMessageId": "5"}},
        {"hasMore": True, "before": "5"},
    ),
    "nothing said": ({"query": "x", "items": [1]}, {}),
}


@pytest.mark.parametrize(("payload", "expected"), PAGES.values(), ids=PAGES)
def test_the_page_is_found_in_every_dialect(payload: dict[str, Any], expected: Any) -> None:
    said = read(payload, "list_things").response.to_dict()
    assert said["responseType"] == "list"
    assert said.get("pagination", {}) == expected


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
ODD: dict[str, Any] = {
    "nothing": b"",
    "blanks": "   ",
    "broken JSON": '{"a": ',
    "deep JSON": "[" * 100_000,
    "binary": bytes(range(256)) * 40,
    "invalid UTF-8": b"caf\xe9 au lait",
    "a number": 5,
    "null": None,
    "an object of Python's": object(),
    "a result without content": {"content": []},
    "content that is none": {"content": "words"},
    "a block that is none": {"content": [5]},
    "a tool result in a list": [{"content": [{"type": "text", "text": "x"}]}],
    "an error that is no object": {"jsonrpc": "2.0", "id": 1, "error": "no"},
    "nested wrappings": {"output": {"output": {"output": {"output": "x"}}}},
    "lone surrogates": '{"a": "\\ud800"}',
    "half a character": '{"a": "\ud800"}',
    "half a character in a text": {"content": [{"type": "text", "text": '["\ud800"]'}]},
    "half a character after prose": 'Rows:\n["\ud800"]',
    "half a character as Python shows it": "[{'a': '\ud800'}]",
    "names that are no text": {1: [2], None: {(3, 4): 5}},
    "names that are no text in a list": [{1: 2}],
    "a list of itself": CIRCLE,
    "a block whose text is an object of Python's": {
        "content": [{"type": "text", "text": {"a": object()}}]
    },
    "a type that is a list": [{"type": []}],
    "a link that is none": {"items": [], "next": "http://[x/?page=2"},
    "a page number in superscript": {"items": [], "next": "/?page=\u00b2"},
    "a page number of many digits": {"items": [], "next": f"/?page={'1' * 5_000}"},
    "words of many digits": f"Showing 1-{'1' * 5_000}\na\nb",
    "an escape that Python has not": "['\\8', '\\\u00b2']",
    "a cell of more than csv takes": "a,b,c\n1,2," + "x" * 200_000,
}


@pytest.mark.parametrize("reply", ODD.values(), ids=ODD)
def test_anything_at_all_gives_a_reading(reply: Any) -> None:
    reading = read(reply)
    assert isinstance(reading.response, Response)
    assert reading.response.tool_name == "unknown"
    assert reading.findings
    assert isinstance(read(reply, "list_things").response, Response)
    assert isinstance(read({"structuredContent": reply}, "send").response, Response)


def test_every_rule_has_a_name_of_its_own_and_says_when_it_fires() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.when and rule.example for rule in RULES)
    assert RULES[-1].name == "single"


def test_what_disagrees_is_kept_and_said() -> None:
    reply = {"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 2}}
    reading = read(reply, "get")
    assert reading.response.data == {"a": 2}
    assert "text and structuredContent differ; structuredContent is used" in reading.findings


PAGE = (Path(__file__).parents[2] / "docs/reading.md").read_text()


def rows(heading: str) -> list[tuple[str, str]]:
    """The rules that the page has in the table below a heading, each with its example."""
    table = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    example = r"(?:`+|<code>) ?(.*?) ?(?:`+|</code>)"
    return re.findall(rf"^\| `([\w-]+)` \| .*? \| {example} \|$", table, re.M)


PLACES = rows("Where the value is")


@pytest.mark.parametrize(("rule", "example"), PLACES, ids=[rule for rule, _ in PLACES])
def test_the_page_about_reading_says_where_a_value_is_found(rule: str, example: str) -> None:
    shown = example.replace("\u23ce", "\n")
    if rule == "fenced-reply":
        shown = f"```{shown.strip('`')}```"
    assert rule in read(shown, "t").rules


def test_the_page_about_reading_lists_every_way_to_a_value() -> None:
    sources = [path.read_text() for path in Path(accord.reader.__file__).parent.glob("*.py")]
    named = {name for source in sources for name in re.findall(r'notes\.rule\("([\w-]+)"', source)}
    elsewhere = {rule.name for rule in RULES} | {"sdk-object", "exception", "binary"}
    shapes = {"response-v2", "generic", "problem"}
    assert {rule for rule, _ in PLACES} | {"json"} == (named - elsewhere) | {"json"} | shapes


SIGNS = rows("Failure markers")


@pytest.mark.parametrize(("sign", "example"), SIGNS, ids=[sign for sign, _ in SIGNS])
def test_the_page_about_reading_shows_what_says_that_it_failed(sign: str, example: str) -> None:
    doers = {"exit-code": "run_command", "exchange-failed": "send_request"}
    reading = read(example, doers.get(sign, "get_thing"))
    assert reading.is_failure
    assert reading.rules[-1] == sign


def test_the_page_about_reading_lists_every_sign_of_a_failure() -> None:
    sources = [path.read_text() for path in Path(accord.reader.__file__).parent.glob("*.py")]
    named = {name for source in sources for name in re.findall(r'_?[Ss]ign\("([\w-]+)"', source)}
    assert {sign for sign, _ in SIGNS} == named - {rule.name for rule in RULES}


PATTERNS = rows("Text that is a list")


@pytest.mark.parametrize(("rule", "example"), PATTERNS, ids=[rule for rule, _ in PATTERNS])
def test_the_page_about_reading_shows_texts_that_are_lists(rule: str, example: str) -> None:
    text = html.unescape(example.replace("\u23ce", "\n"))
    assert read(text, "list_things").rules[-1] == rule


def test_the_page_about_reading_lists_every_pattern() -> None:
    folder = Path(accord.reader.__file__).parent / "items"
    source = "\n".join(path.read_text() for path in folder.glob("[a-z]*.py"))
    named = re.findall(r'(?:Items\(|_uniform\().*?"([a-z-]+)"\)', source, re.S)
    assert {rule for rule, _ in PATTERNS} == set(named)


def test_the_page_about_reading_lists_every_rule_in_order() -> None:
    table = PAGE.partition("## Rules")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([\w-]+)` \|", table, re.M)
    assert listed == [rule.name for rule in RULES]
