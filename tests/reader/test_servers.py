"""Replies in the ways of well-known servers, each of which was once read for something else."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from accord.reader import read
from reader.judging import Case, each_of, require_items, require_kind

CONTACTS = (
    "[{'id': UUID('0f8fad5b-d9cb-469f-a165-70867728950e'), 'name': 'Ada',"
    " 'at': datetime.datetime(2026, 1, 5, 8, tzinfo=zoneinfo.ZoneInfo(key='Etc/UTC'))}]"
)
NOTHING_BELOW = (
    "## Matching types:\nNo matching types found.\n\n## Matching fields:\nNo matching fields found."
)

KINDS: dict[str, list[Case]] = {
    "error": [
        ("get-library-docs", {"library": "x"}, "Rate limited due to too many requests."),
        ("wishlist", {"op": "add", "id": "1"}, "Login required. There is no cookie."),
        (
            "create-product",
            {"title": ""},
            '{"product": null, "userErrors": [{"message": "Title can\'t be blank"}]}',
        ),
        ("edit_block", {"path": "a"}, "Expected 1 occurrences but found 3 in a.py."),
        ("patch_note", {"path": "a"}, "Caught Exception. Error: the target does not exist"),
        (
            "convert_to_pdf",
            {"filename": "a.docx"},
            'Failed to convert document: no converter found. Errors: ["soffice: not there"]',
        ),
        (
            "learn_api",
            {"api": "x"},
            "Error fetching getting started information for x: HTTP error! status: 500",
        ),
        (
            "fetch_content",
            {"url": "https://a.example/b"},
            "Error: Could not access the page (404 Not Found for url 'https://a.example/b')\n"
            "For more information check: https://docs.example/404",
        ),
        (
            "get_top_queries",
            {"limit": 5},
            "The stats extension is required to report them, but it is not currently installed.\n\n"
            "You can install it.\n\n**Is it safe?** It is.",
        ),
        (
            "get_sizes",
            {"packages": ["a"]},
            '{"results": [{"name": "a", "input": "a", "version": "1", "status": "error",'
            ' "error": "not found", "data": null}]}',
        ),
        (
            "fetch",
            {"url": "https://a.example/"},
            "Contents of https://a.example/:\n<error>No more.</error>",
        ),
        (
            "fetch_url",
            {"url": "https://a.example/"},
            "Title: Error\nURL: https://a.example/\nContent:\n\n<error>It cannot be read\nat all</error>",
        ),
        (
            "list_trades",
            {"ticker": "A"},
            'Error: {"status": "NOT_AUTHORIZED", "message": "Upgrade"}',
        ),
        ("BashCommand", {"line": "ls"}, "GOT EXCEPTION while calling tool. Error: it runs already"),
        ("TOOL_CALL", {"tool_name": "QUOTE"}, '{"Error Message": "Invalid API call."}'),
        ("set_price", {"price": 1}, '{"data": null, "error": true, "errorText": "It is set"}'),
    ],
    "action": [
        ("review_write", {"method": "create"}, "pull request review submitted successfully"),
        ("call_aws", {"command": "aws ec2 stop-instances --ids i-1"}, '{"output": "stopping"}'),
        ("run_process", {"command_line": "git commit -m x"}, "[main 1a2b3c4] x"),
        (
            "call_service",
            {"domain": "light", "service": "turn_on"},
            '{"success": true, "domain": "light", "affected_entities": [{"id": "light.a"}]}',
        ),
        ("transcribe_async", {"file": "a"}, '{"job_id": "b2", "state": "queued", "position": 1}'),
        (
            "execute_kubectl",
            {"command": "scale deployment/a"},
            '{"status": "success", "output": "a scaled"}',
        ),
        ("image_pull", {"name": "a"}, "d8ad8cd72600\ndocker.io/a:3 pulled successfully"),
        ("run-command", {"command": "cd /srv && git pull"}, "Updating 41c0b7e..9d2f113"),
        ("convert_to_pdf", {"filename": "a.docx"}, "Document successfully converted: a.pdf"),
    ],
    "single": [
        ("run_code", {"code": "1"}, '{"results": [{"text": "1"}], "logs": {"stdout": []}}'),
        ("run_code", {"code": "1"}, '{"results": [], "logs": {"stdout": ["1"]}}'),
        (
            "execute_query",
            {"query": "scalar(up)"},
            '{"resultType": "s", "result": [1749801122.4, "41"]}',
        ),
        (
            "listing_details",
            {"id": "1"},
            '{"url": "u", "details": [{"title": "Where", "city": "Rome"}, {"title": "Rules"}]}',
        ),
        (
            "thinking_tools",
            {"available_tools": ["a", "b"]},
            '{"step": 1, "available_tools": ["a", "b"]}',
        ),
        ("memory_consolidate", {"action": "status"}, "Status: HEALTHY\nLast run: today"),
        ("script_execute", {"code_snippet": "date"}, "Monday, 12 May 2025 at 10:14:07"),
        ("cluster_health", {}, "Cluster is YELLOW\n\n- Nodes: 1\n- Shards: 41\n- Tasks: 0"),
        ("sales_reports", {}, "| Metric | Value |\n|---|---|\n| Sales | 4 |\n| Refunds | 1 |"),
        ("get_pull_request_status", {"number": 1}, '{"state": "failure", "statuses": [{"id": 1}]}'),
        ("text_hover", {"position": {"line": 4}}, '{"contents": {"value": "function a()"}}'),
        ("maps_directions", {"to": "b"}, '{"routes": [{"distance": "3 km", "steps": [{"a": 1}]}]}'),
        ("run_seo_audit", {}, '{"metadata": {"url": "u"}, "report": {"score": 82}}'),
        ("execute_tool", {"name": "get_issue", "arguments": {}}, '{"id": "1", "title": "a"}'),
        ("ssh_exec", {"command": "df"}, "Filesystem  Size  Mounted on\n/dev/a  468G  /"),
    ],
    "tool_catalog": [
        ("tools", {}, "upload(source) - Upload a file\ndelete(id) - Remove a file"),
        (
            "az_tools_list",
            {},
            '{"status": 200, "results": [{"name": "list", "description": "List groups."}]}',
        ),
    ],
}

LISTS: list[tuple[str, dict[str, Any], str, int]] = [
    ("execute_sql", {"sql": "select * from contacts"}, CONTACTS, 1),
    ("get_top_queries", {}, "Top 2 queries:\n[{'query': 'a', 'calls': 1}, {'query': 'b', 'calls': 2}]", 2),
    ("execute_sql", {"query": "SELECT name FROM t"}, "name\n", 0),
    ("query", {"sql": "select a from b"}, '[{"results": [{"a": 1}, {"a": 2}], "meta": {}}]', 2),
    ("list_collections", {}, '["__NO_COLLECTIONS_FOUND__"]', 0),
    ("query_documents", {"n": 2}, '{"ids": [["a", "b"]], "documents": [["x", "y"]]}', 2),
    ("find", {"query": "a"}, '["Results for the query \'a\'", "<entry>x</entry>", "<entry>y</entry>"]', 2),
    ("list_dir", {"path": "."}, '{"dirs": ["a", "b"], "files": ["c", "d", "e"]}', 5),
    ("list_files", {"path": "."}, "site\n├── content\n│   └── a.md\n├── themes\n└── README.md\n", 4),
    ("list_active_processes", {}, '{"success": true, "active_processes": {"7": {"pid": 7}}}', 1),
    ("execute_kubectl", {"command": "get pods -n a"}, '{"status": "success", "output": "NAME  READY  AGE\\na  1/1  4d\\nb  0/1  2m\\n"}', 2),
    ("call_aws", {"command": "aws iam list-users"}, '{"status": "success", "output": "[{\\"Id\\": 1}, {\\"Id\\": 2}]"}', 2),
    ("call_aws", {"command": "aws lambda list-functions"}, '{"status": "success", "output": "[]\\n"}', 0),
    ("list_teams", {}, "You are not a member of any teams.", 0),
    ("getJobs", {"folder": "a"}, '{"status": "DONE", "message": "Search completed, but no results were found."}', 0),
    ("perform_rag_query", {"query": "a"}, '{"success": true, "query": "a", "results": [], "count": 0}', 0),
    ("list_annotations", {}, '{"headers": {"Link": ""}, "items": null}', 0),
    ("get_chats", {}, "Chat ID: 7, Title: A\nChat ID: 8, Title: B\nChat ID: 9, Title: C", 3),
    ("list_sessions", {}, "PID: 48122, Blocked: true, Runtime: 62s", 1),
    ("list_tasks", {}, "## Notice\n\nCurrently, there are no tasks with that status in the system.", 0),
    ("introspect_schema", {"query": "x"}, NOTHING_BELOW, 0),
    ("search_by_tag", {"tag": "a"}, "Found the following:\n\nMemory 1:\nContent: a\nTags: b", 1),
    ("search", {"q": "a"}, "Path: /a/README.md\nSize: 2 bytes\nCreated: today\n", 1),
    (
        "search_within_files",
        {"substring": "b"},
        "Found 3 occurrences of 'b':\n\nFile: /a\n  Line 2: b\n\nFile: /c\n  Line 8: b\n  Line 31: b\n",
        3,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "tool", "arguments", "reply"), each_of(KINDS))
def test_a_reply_is_what_it_is(kind: str, tool: str, arguments: dict[str, Any], reply: str) -> None:
    require_kind(kind, tool, arguments, reply)


@pytest.mark.parametrize(("tool", "arguments", "reply", "items"), LISTS)
def test_a_list_has_as_many_items(
    tool: str, arguments: dict[str, Any], reply: str, items: int
) -> None:
    require_items(tool, arguments, reply, items)


def said_by(value: Any, tool: str, arguments: dict[str, Any]) -> Any:
    words = value if isinstance(value, str) else json.dumps(value)
    return read({"content": [{"type": "text", "text": words}]}, tool, arguments)


def test_what_users_did_wrong_is_the_message() -> None:
    value = {"product": None, "userErrors": [{"message": "Title cannot be blank"}]}
    said = said_by(value, "create-product", {}).response
    assert said.error is not None
    assert said.error.message == "Title cannot be blank"


def test_what_python_shows_does_not_hide_the_json_behind_it() -> None:
    reading = said_by(
        'Removed:\n[\'x\'] was removed\n\nResult:\n[{"a": 1}, {"a": 2}]', "get_users", {}
    )
    assert reading.response.data == [{"a": 1}, {"a": 2}]
    assert "json-in-prose" in reading.rules


def test_what_python_shows_after_words_is_called_so() -> None:
    reading = said_by("Top 2:\n[{'q': 'a'}, {'q': 'b'}]", "get_top_queries", {})
    assert "python-value" in reading.rules
    assert reading.findings == ["the data is a Python literal, not JSON"]


def test_which_of_what_is_in_a_folder_are_folders_is_told_beside_it() -> None:
    value = {"dirs": ["a"], "files": ["c"], "file": "root", "path": "."}
    said = said_by(value, "list_dir", {"path": "."}).response
    assert said.data == ["a", "c"]
    assert said.metadata == {"dirs": ["a"], "file": "root", "path": "."}


COMMANDS = [
    ("NAME  READY  AGE\na  1/1  4d\nb  0/1  2m\n", ["a  1/1  4d", "b  0/1  2m"]),
    ('[{"name": "a", "code": 1}, {"name": "b"}]', [{"name": "a", "code": 1}, {"name": "b"}]),
]


@pytest.mark.parametrize(("output", "items"), COMMANDS)
def test_what_stands_beside_the_output_of_a_program_is_kept(output: str, items: list[Any]) -> None:
    value = {"status": "success", "code": 7, "output": output, "copy": "x"}
    said = said_by(value, "execute_kubectl", {"command": "get pods"}).response
    assert said.data == items
    assert said.metadata == {"status": "success", "code": 7, "copy": "x"}


def test_data_between_marks_is_said_to_be_others_words_also_behind_ours() -> None:
    words = 'It is below.\n\n<untrusted-data-3b1f0d7e>\n[{"a": 1}]\n</untrusted-data-3b1f0d7e>'
    for reply in (words, json.dumps(words)):
        reading = said_by(reply, "execute_sql", {"query": "select a from b"})
        assert reading.response.data == [{"a": 1}]
        assert "the data is marked as untrusted" in reading.findings


SEEDS = """
from accord.reader import read
for arguments in (
    {"command": "kubectl get pods", "script": "x = 1"},
    {"tool_name": "list_files", "toolName": "create_user", "arguments": "{}"},
):
    print(read("a\\nb\\nc", "run_code", arguments).response.response_type)
"""


def test_a_reading_is_the_same_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SEEDS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(said) == 1


def test_what_stands_above_the_items_is_kept() -> None:
    reply = '["Results for the query \'a\'", "<entry>x</entry>"]'
    said = read({"content": [{"type": "text", "text": reply}]}, "find", {"query": "a"}).response
    assert said.metadata == {"remarks": ["Results for the query 'a'"]}
    assert said.data == ["<entry>x</entry>"]


def test_what_python_shows_is_kept_as_it_is_written() -> None:
    reply = "{'a': <Foo object at 0x7f>, 'b': Decimal('1.5'), 'c': Row(x=f(1))}"
    assert read(reply, "get_thing").value == {
        "a": "<Foo object at 0x7f>",
        "b": "1.5",
        "c": "Row(x=f(1))",
    }
