"""What real servers are asked, and what lies before them when they are.

Paths and the site are written as they are kept: the recorder puts the real ones in their place,
and takes them out of the replies.
"""

import base64
import os
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = "/tmp/corpus"
SITE = "http://127.0.0.1:8000"
REPO = f"{FOLDER}/repo"
MISSING = f"{FOLDER}/missing.txt"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
NOBODY = "0000000000000000000000000000000000000000"
GIT_TIME = "1767605400 +0000"
GIT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": GIT_TIME,
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": GIT_TIME,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Case(NamedTuple):
    """One request, and in a few words what it is there to show."""

    name: str
    method: str
    params: Mapping[str, Any]


class Conversation(NamedTuple):
    """Requests one after another, on one connection to a server that has just been started."""

    cases: list[Case]
    revision: str | None = None
    prepare: Callable[[Path], None] = lambda _: None
    env: Mapping[str, str] = {}
    words: tuple[str, ...] = ()
    """Further words of the command line."""


def call(name: str, tool: str, /, **arguments: Any) -> Case:
    return Case(name, "tools/call", {"name": tool, "arguments": arguments})


def ask(name: str, method: str, /, **params: Any) -> Case:
    return Case(name, method, params)


LIST = ask("the tools", "tools/list")

# npm: everything

EVERYTHING = [
    LIST,
    call("a short text", "echo", message="hello"),
    call("an empty text", "echo", message=""),
    call("text in other scripts", "echo", message="naïve 日本語 🦉 end"),
    call("text that is JSON", "echo", message='{"rows": [1, 2, 3]}'),
    call("text of several lines", "echo", message="one\ntwo\n\nfour\ttab"),
    call("a number inside a sentence", "get-sum", a=2, b=3),
    call("a fraction inside a sentence", "get-sum", a=0.1, b=0.2),
    call("a large number inside a sentence", "get-sum", a=1e21, b=1),
    call("arguments of the wrong type", "get-sum", a="two", b=3),
    call("an argument that is missing", "get-sum", a=2),
    call("no arguments where some are needed", "echo"),
    call("an unknown tool", "subtract", a=2, b=3),
    call("structure beside its text", "get-structured-content", location="New York"),
    call("structure for another city", "get-structured-content", location="Chicago"),
    call("a value that is not one of the choices", "get-structured-content", location="Atlantis"),
    call("an image between two texts", "get-tiny-image"),
    call("text with annotations of an error", "get-annotated-message", messageType="error"),
    call("text with annotations of a success", "get-annotated-message", messageType="success"),
    call(
        "annotated text and an image",
        "get-annotated-message",
        messageType="debug",
        includeImage=True,
    ),
    call("three links", "get-resource-links"),
    call("one link", "get-resource-links", count=1),
    call("more links than allowed", "get-resource-links", count=11),
    call("an embedded text", "get-resource-reference", resourceType="Text", resourceId=7),
    call("an embedded blob", "get-resource-reference", resourceType="Blob", resourceId=8),
    call("an embedded resource with a bad id", "get-resource-reference", resourceId=-1),
    call(
        "a link to a file just made",
        "gzip-file-as-resource",
        name="hello.gz",
        data="data:text/plain;base64,aGVsbG8=",
    ),
    call(
        "an embedded file just made",
        "gzip-file-as-resource",
        name="hello.gz",
        data="data:text/plain;base64,aGVsbG8=",
        outputType="resource",
    ),
    call("a file from a scheme that is refused", "gzip-file-as-resource", data="ftp://127.0.0.1/x"),
    call("JSON of the environment as text", "get-env"),
    call("an operation of some steps", "trigger-long-running-operation", duration=0.03, steps=3),
    call("a tool that runs as a task only", "simulate-research-query", topic="owls"),
    ask("a list of resources", "resources/list"),
    ask("a list of resource templates", "resources/templates/list"),
    ask("a text resource", "resources/read", uri="demo://resource/dynamic/text/3"),
    ask("a binary resource", "resources/read", uri="demo://resource/dynamic/blob/4"),
    ask("a resource that is not there", "resources/read", uri="demo://resource/none"),
    ask("a list of prompts", "prompts/list"),
    ask("a prompt", "prompts/get", name="args-prompt", arguments={"city": "Paris"}),
    ask("a prompt without its argument", "prompts/get", name="args-prompt"),
    ask(
        "completions",
        "completion/complete",
        ref={"type": "ref/prompt", "name": "completable-prompt"},
        argument={"name": "department", "value": "S"},
    ),
    ask("a ping", "ping"),
    ask("a method that nobody has", "tools/forget"),
]
EVERYTHING_BEFORE_STRUCTURE = [
    call("structure in a revision without it", "get-structured-content", location="Los Angeles"),
    call("links in a revision without them", "get-resource-links", count=2),
    call("a sum in the oldest revision", "get-sum", a=40, b=2),
]

# npm: filesystem

FILES = {
    "notes.txt": "first line\nsecond line\nthird line\n",
    "empty.txt": "",
    "unicode.txt": "naïve 日本語 🦉\n",
    "data.json": '{"rows": [{"id": 1, "name": "ada"}, {"id": 2, "name": "grace"}], "total": 2}\n',
    "list.json": "[1, 2, 3]\n",
    "table.csv": "id,name\n1,ada\n2,grace\n",
    "error.log": "Error: this is only what the file says\n",
    "docs/guide.md": '# Guide\n\n```json\n{"a": 1}\n```\n',
    "docs/deep/er.txt": "deep\n",
    "old/draft.txt": "draft\n",
}


def lay_out_files(folder: Path) -> None:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    (folder / "bytes.bin").write_bytes(bytes(range(16)))
    (folder / "nothing").mkdir()


FILESYSTEM = [
    LIST,
    call("a text file", "read_text_file", path=f"{FOLDER}/notes.txt"),
    call("the same by the older tool", "read_file", path=f"{FOLDER}/notes.txt"),
    call("the first lines", "read_text_file", path=f"{FOLDER}/notes.txt", head=1),
    call("the last lines", "read_text_file", path=f"{FOLDER}/notes.txt", tail=1),
    call("first and last at once", "read_text_file", path=f"{FOLDER}/notes.txt", head=1, tail=1),
    call("an empty file", "read_text_file", path=f"{FOLDER}/empty.txt"),
    call("a file in other scripts", "read_text_file", path=f"{FOLDER}/unicode.txt"),
    call("a file that is a JSON object", "read_text_file", path=f"{FOLDER}/data.json"),
    call("a file that is a JSON list", "read_text_file", path=f"{FOLDER}/list.json"),
    call("a file that is a table", "read_text_file", path=f"{FOLDER}/table.csv"),
    call("a file that speaks of an error", "read_text_file", path=f"{FOLDER}/error.log"),
    call("a file with fenced JSON", "read_text_file", path=f"{FOLDER}/docs/guide.md"),
    call("a file that is not there", "read_text_file", path=MISSING),
    call("a file outside", "read_text_file", path="/etc/hostname"),
    call("a file by way of the parent", "read_text_file", path=f"{FOLDER}/../elsewhere.txt"),
    call("a folder read as a file", "read_text_file", path=f"{FOLDER}/docs"),
    call("no path", "read_text_file"),
    call("a path that is a number", "read_text_file", path=7),
    call("an image", "read_media_file", path=f"{FOLDER}/pixel.png"),
    call("bytes of no known kind", "read_media_file", path=f"{FOLDER}/bytes.bin"),
    call("an image that is not there", "read_media_file", path=f"{FOLDER}/none.png"),
    call(
        "several files", "read_multiple_files", paths=[f"{FOLDER}/notes.txt", f"{FOLDER}/list.json"]
    ),
    call(
        "several files, one missing", "read_multiple_files", paths=[f"{FOLDER}/notes.txt", MISSING]
    ),
    call("no files at all", "read_multiple_files", paths=[]),
    call("a file written", "write_file", path=f"{FOLDER}/new.txt", content="new\n"),
    call("a file written outside", "write_file", path="/var/tmp/accord.txt", content="no"),
    call("a file written without content", "write_file", path=f"{FOLDER}/new.txt"),
    call(
        "an edit",
        "edit_file",
        path=f"{FOLDER}/new.txt",
        edits=[{"oldText": "new", "newText": "newer"}],
    ),
    call(
        "an edit only shown",
        "edit_file",
        path=f"{FOLDER}/new.txt",
        edits=[{"oldText": "newer", "newText": "newest"}],
        dryRun=True,
    ),
    call(
        "an edit of text that is not there",
        "edit_file",
        path=f"{FOLDER}/new.txt",
        edits=[{"oldText": "absent", "newText": "x"}],
    ),
    call("a folder made", "create_directory", path=f"{FOLDER}/made"),
    call("a folder made again", "create_directory", path=f"{FOLDER}/made"),
    call("a folder listed", "list_directory", path=FOLDER),
    call("an empty folder listed", "list_directory", path=f"{FOLDER}/nothing"),
    call("a missing folder listed", "list_directory", path=f"{FOLDER}/none"),
    call("a folder with sizes", "list_directory_with_sizes", path=f"{FOLDER}/docs"),
    call("a folder by size", "list_directory_with_sizes", path=FOLDER, sortBy="size"),
    call("an empty folder with sizes", "list_directory_with_sizes", path=f"{FOLDER}/nothing"),
    call("a folder by a bad order", "list_directory_with_sizes", path=FOLDER, sortBy="age"),
    call("a tree as JSON in text", "directory_tree", path=f"{FOLDER}/docs"),
    call("a tree of nothing", "directory_tree", path=f"{FOLDER}/nothing"),
    call(
        "a tree with exclusions", "directory_tree", path=FOLDER, excludePatterns=["docs", "*.txt"]
    ),
    call(
        "a file moved", "move_file", source=f"{FOLDER}/new.txt", destination=f"{FOLDER}/moved.txt"
    ),
    call("a missing file moved", "move_file", source=MISSING, destination=f"{FOLDER}/there.txt"),
    call("files found", "search_files", path=FOLDER, pattern="**/*.txt"),
    call("no files found", "search_files", path=FOLDER, pattern="*.none"),
    call("facts of a file as lines", "get_file_info", path=f"{FOLDER}/notes.txt"),
    call("facts of a folder as lines", "get_file_info", path=f"{FOLDER}/docs"),
    call("facts of a missing file", "get_file_info", path=MISSING),
    call("the allowed folders", "list_allowed_directories"),
    call("an unknown tool", "delete_file", path=f"{FOLDER}/notes.txt"),
]
FILESYSTEM_BEFORE_STRUCTURE = [
    call(
        "a text file in a revision without structure", "read_text_file", path=f"{FOLDER}/notes.txt"
    ),
    call("a folder listed in a revision without structure", "list_directory", path=FOLDER),
]

# npm: memory

ADA = {"name": "Ada", "entityType": "person", "observations": ["wrote notes", "likes looms"]}
ENGINE = {"name": "Engine", "entityType": "machine", "observations": []}
WROTE = {"from": "Ada", "to": "Engine", "relationType": "wrote about"}

MEMORY = [
    LIST,
    call("an empty graph", "read_graph"),
    call("nothing found in an empty graph", "search_nodes", query="ada"),
    call("two entities made", "create_entities", entities=[ADA, ENGINE]),
    call("an entity made again", "create_entities", entities=[ADA]),
    call("no entities made", "create_entities", entities=[]),
    call("an entity without a type", "create_entities", entities=[{"name": "Nobody"}]),
    call("entities that are no list", "create_entities", entities="Ada"),
    call("a relation made", "create_relations", relations=[WROTE]),
    call("a relation made again", "create_relations", relations=[WROTE]),
    call(
        "observations added",
        "add_observations",
        observations=[{"entityName": "Engine", "contents": ["has 1,000 columns", "日本語"]}],
    ),
    call(
        "observations for nobody",
        "add_observations",
        observations=[{"entityName": "Zoe", "contents": ["absent"]}],
    ),
    call("the whole graph", "read_graph"),
    call("nodes found", "search_nodes", query="loom"),
    call("no nodes found", "search_nodes", query="zebra"),
    call("a query that is missing", "search_nodes"),
    call("a node opened", "open_nodes", names=["Ada"]),
    call("a node opened that is not there", "open_nodes", names=["Zoe"]),
    call("no nodes opened", "open_nodes", names=[]),
    call(
        "an observation deleted",
        "delete_observations",
        deletions=[{"entityName": "Ada", "observations": ["likes looms"]}],
    ),
    call("a relation deleted", "delete_relations", relations=[WROTE]),
    call("an entity deleted", "delete_entities", entityNames=["Engine"]),
    call("an entity deleted that is not there", "delete_entities", entityNames=["Zoe"]),
    call("what is left", "read_graph"),
    ask("a list of resources", "resources/list"),
    ask("the graph as a resource", "resources/read", uri="memory://knowledge-graph"),
    call("an unknown tool", "forget_everything"),
]

# npm: sequential-thinking


def think(name: str, thought: str, number: int, /, *, more: Any = True, **others: Any) -> Case:
    steps = {"thought": thought, "nextThoughtNeeded": more, "thoughtNumber": number}
    return call(name, "sequentialthinking", **steps, totalThoughts=3, **others)


THINKING = [
    LIST,
    think("a first thought", "count the owls", 1),
    think("a second thought", "there are two", 2),
    think("a thought revised", "there are three", 3, isRevision=True, revisesThought=2),
    think("a branch", "or is one a cat", 4, branchFromThought=2, branchId="cats"),
    think("the last thought", "three", 5, more=False),
    think("a yes in words", "three", 6, more="true"),
    think("a thought with a bad number", "none", 0),
    think("a thought that is no text", 7, 7),  # type: ignore[arg-type]
    call("a thought that is missing", "sequentialthinking", thoughtNumber=1),
    call("an unknown tool", "stop_thinking"),
]

# PyPI: time

TOKYO = {"source_timezone": "Asia/Tokyo", "target_timezone": "Asia/Kolkata"}

TIME = [
    LIST,
    call("the time in UTC", "get_current_time", timezone="UTC"),
    call("the time in Tokyo", "get_current_time", timezone="Asia/Tokyo"),
    call("the time in no known zone", "get_current_time", timezone="Mars/Olympus"),
    call("the time in an empty zone", "get_current_time", timezone=""),
    call("no zone", "get_current_time"),
    call("a zone that is a number", "get_current_time", timezone=9),
    call("a time converted", "convert_time", **TOKYO, time="16:30"),
    call("a time converted across midnight", "convert_time", **TOKYO, time="01:15"),
    call(
        "a time converted by less than an hour",
        "convert_time",
        source_timezone="Asia/Kolkata",
        time="12:00",
        target_timezone="Asia/Kathmandu",
    ),
    call("a time that is none", "convert_time", **TOKYO, time="25:00"),
    call("a time in words", "convert_time", **TOKYO, time="noon"),
    call(
        "a time from no known zone",
        "convert_time",
        source_timezone="Nowhere",
        time="12:00",
        target_timezone="UTC",
    ),
    call("a conversion without a target", "convert_time", source_timezone="UTC", time="12:00"),
    call("an unknown tool", "set_time", time="12:00"),
    ask("no resources", "resources/list"),
    ask("a method that nobody has", "tools/forget"),
]
TIME_WITH_HANDSHAKE = [
    call("the time in the handshake era", "get_current_time", timezone="Asia/Tokyo"),
    call("a bad zone in the handshake era", "get_current_time", timezone="Mars/Olympus"),
    call("a bad argument in the handshake era", "convert_time", time=1),
    call("an unknown tool in the handshake era", "set_time"),
]

# PyPI: git


def lay_out_repo(folder: Path) -> None:
    repo = folder / "repo"
    repo.mkdir()

    def git(*words: str) -> None:
        env = {"PATH": os.environ["PATH"], **GIT}
        subprocess.run(["git", *words], cwd=repo, env=env, check=True, capture_output=True)

    git("init", "--initial-branch", "main")
    (repo / "README.md").write_text("# Owls\n\nTwo of them.\n")
    (repo / "owls.txt").write_text("barn\ntawny\n")
    git("add", ".")
    git("commit", "--message", "Count the owls")
    (repo / "owls.txt").write_text("barn\ntawny\nsnowy\n")
    git("commit", "--all", "--message", "Add one more\n\nIt came at night.")
    git("branch", "quiet")
    (repo / "owls.txt").write_text("barn\nlittle\nsnowy\n")
    (repo / "mice.txt").write_text("many\n")
    (folder / "bare").mkdir()


GIT_CASES = [
    LIST,
    call("a status with changes", "git_status", repo_path=REPO),
    call("changes not staged", "git_diff_unstaged", repo_path=REPO),
    call("changes without context", "git_diff_unstaged", repo_path=REPO, context_lines=0),
    call("nothing staged", "git_diff_staged", repo_path=REPO),
    call("files staged", "git_add", repo_path=REPO, files=["owls.txt"]),
    call("a missing file staged", "git_add", repo_path=REPO, files=["cats.txt"]),
    call("no files staged", "git_add", repo_path=REPO, files=[]),
    call("changes staged", "git_diff_staged", repo_path=REPO),
    call("nothing left to stage", "git_diff_unstaged", repo_path=REPO),
    call("a difference between branches", "git_diff", repo_path=REPO, target="quiet"),
    call("a difference to nothing known", "git_diff", repo_path=REPO, target="nowhere"),
    call("a target that looks like an option", "git_diff", repo_path=REPO, target="--stat"),
    call("a commit", "git_commit", repo_path=REPO, message="Swap an owl"),
    call("a commit without a message", "git_commit", repo_path=REPO),
    call("a log", "git_log", repo_path=REPO),
    call("a log of one", "git_log", repo_path=REPO, max_count=1),
    call("a log of none", "git_log", repo_path=REPO, max_count=0),
    call("a log since a day to come", "git_log", repo_path=REPO, start_timestamp="2099-01-01"),
    call("a log of a bad length", "git_log", repo_path=REPO, max_count="many"),
    call("the last commit shown", "git_show", repo_path=REPO, revision="HEAD"),
    call("the first commit shown", "git_show", repo_path=REPO, revision="HEAD~2"),
    call("a commit that is not there", "git_show", repo_path=REPO, revision=NOBODY),
    call("a branch made", "git_create_branch", repo_path=REPO, branch_name="loud"),
    call("a branch made again", "git_create_branch", repo_path=REPO, branch_name="loud"),
    call("a branch from nowhere", "git_create_branch", repo_path=REPO, branch_name="x", base_branch="none"),
    call("another branch checked out", "git_checkout", repo_path=REPO, branch_name="loud"),
    call("a missing branch checked out", "git_checkout", repo_path=REPO, branch_name="missing"),
    call("local branches", "git_branch", repo_path=REPO, branch_type="local"),
    call("remote branches, of which there are none", "git_branch", repo_path=REPO, branch_type="remote"),
    call("branches of a bad kind", "git_branch", repo_path=REPO, branch_type="odd"),
    call("all unstaged", "git_reset", repo_path=REPO),
    call("a status with one new file", "git_status", repo_path=REPO),
    call("a folder that is no repository", "git_status", repo_path=f"{FOLDER}/bare"),
    call("a folder that is not there", "git_status", repo_path=f"{FOLDER}/none"),
    call("no folder", "git_status"),
    call("an unknown tool", "git_push", repo_path=REPO),
]  # fmt: skip

# PyPI: fetch

PAGES: dict[str, tuple[int, str, str]] = {
    "/robots.txt": (200, "text/plain", "User-agent: *\nDisallow: /private\n"),
    "/owls": (
        200,
        "text/html; charset=utf-8",
        "<html><head><title>Owls</title></head><body><article><h1>Owls</h1><p>Owls are birds of the"
        " night, and there are more than two hundred kinds of them.</p><ul><li>barn</li><li>tawny"
        '</li></ul><p>See <a href="/mice">mice</a> for what they eat.</p></article></body></html>',
    ),
    "/table": (
        200,
        "text/html",
        "<html><body><h1>Prices</h1><table><tr><th>item</th><th>price</th></tr><tr><td>moth trap"
        "</td><td>19.99</td></tr></table></body></html>",
    ),
    "/long": (200, "text/plain", "".join(f"line {number}\n" for number in range(1, 2_001))),
    "/plain": (200, "text/plain; charset=utf-8", "only words, naïve ones\n"),
    "/json": (200, "application/json", '{"items": [{"id": 1}, {"id": 2}], "next": "/json?page=2"}'),
    "/list": (200, "application/json", "[]"),
    "/problem": (200, "application/json", '{"error": "this came with status 200"}'),
    "/xml": (200, "application/xml", "<owls><owl>barn</owl></owls>"),
    "/empty": (200, "text/html", ""),
    "/blank": (200, "text/html", "<html><body></body></html>"),
    "/private": (200, "text/html", "<p>not for robots</p>"),
    "/broken": (500, "text/plain", "something broke"),
    "/teapot": (418, "application/json", '{"error": "I am a teapot"}'),
    "/moved": (302, "text/plain", "/plain"),
    "/circle": (302, "text/plain", "/circle"),
}

FETCH = [
    LIST,
    call("a page as Markdown", "fetch", url=f"{SITE}/owls"),
    call("a page as it is", "fetch", url=f"{SITE}/owls", raw=True),
    call("a page with a table", "fetch", url=f"{SITE}/table"),
    call("a plain text", "fetch", url=f"{SITE}/plain"),
    call("a long text cut", "fetch", url=f"{SITE}/long", max_length=100),
    call("a long text from the middle", "fetch", url=f"{SITE}/long", max_length=50, start_index=1000),
    call("a text from beyond its end", "fetch", url=f"{SITE}/plain", start_index=9_999),
    call("a JSON object", "fetch", url=f"{SITE}/json"),
    call("an empty JSON list", "fetch", url=f"{SITE}/list"),
    call("JSON that speaks of an error", "fetch", url=f"{SITE}/problem"),
    call("XML", "fetch", url=f"{SITE}/xml"),
    call("nothing at all", "fetch", url=f"{SITE}/empty"),
    call("a page without words", "fetch", url=f"{SITE}/blank"),
    call("a page that robots may not read", "fetch", url=f"{SITE}/private"),
    call("a page that is not there", "fetch", url=f"{SITE}/none"),
    call("a server that fails", "fetch", url=f"{SITE}/broken"),
    call("a server that refuses with JSON", "fetch", url=f"{SITE}/teapot"),
    call("a page that has moved", "fetch", url=f"{SITE}/moved"),
    call("a page that leads in a circle", "fetch", url=f"{SITE}/circle"),
    call("a port where nobody is", "fetch", url="http://127.0.0.1:9/"),
    call("a URL that is none", "fetch", url="owls"),
    call("a length that is too small", "fetch", url=f"{SITE}/owls", max_length=0),
    call("no URL", "fetch"),
    call("an unknown tool", "post", url=f"{SITE}/owls"),
    ask("a list of prompts", "prompts/list"),
    ask("a prompt with a page in it", "prompts/get", name="fetch", arguments={"url": f"{SITE}/plain"}),
    ask("a prompt without its argument", "prompts/get", name="fetch"),
]  # fmt: skip

FETCH_IN_PUBLIC = [call("an address that is not public", "fetch", url=f"{SITE}/owls")]

# PyPI: sqlite


def lay_out_database(folder: Path) -> None:
    database = sqlite3.connect(folder / "shop.db")
    database.executescript(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, price REAL, note TEXT);"
        "INSERT INTO orders VALUES (1, 'ada', 4.2, NULL), (2, 'grace', 19.99, 'it''s a \"moth\" trap'),"
        " (3, 'ada', 912.5, 'naïve 日本語');"
        "CREATE TABLE empty (id INTEGER);"
        "CREATE TABLE blobs (data BLOB); INSERT INTO blobs VALUES (x'00ff10');"
        "CREATE VIEW totals AS SELECT customer, sum(price) AS total FROM orders GROUP BY customer;"
    )
    database.close()


SQLITE = [
    LIST,
    call("all tables", "list_tables"),
    call("a table described", "describe_table", table_name="orders"),
    call("a missing table described", "describe_table", table_name="none"),
    call("a table described by no name", "describe_table"),
    call("rows", "read_query", query="SELECT * FROM orders ORDER BY id"),
    call("one row", "read_query", query="SELECT * FROM orders WHERE id = 2"),
    call("one value", "read_query", query="SELECT count(*) AS n FROM orders"),
    call("a NULL", "read_query", query="SELECT note FROM orders WHERE id = 1"),
    call("no rows", "read_query", query="SELECT * FROM empty"),
    call("rows of a view", "read_query", query="SELECT * FROM totals ORDER BY customer"),
    call("bytes", "read_query", query="SELECT data FROM blobs"),
    call("numbers of all kinds", "read_query", query="SELECT 1 AS i, 2.5 AS f, 1e308 * 10 AS inf, 9223372036854775807 AS big"),
    call("two columns of one name", "read_query", query="SELECT 1 AS a, 2 AS a"),
    call("text with quotes and lines", "read_query", query="SELECT 'it''s \"so\"' || char(10) || 'new' AS t"),
    call("a list that is JSON", "read_query", query="SELECT json_array(1, 2) AS j"),
    call("many rows", "read_query", query=f"SELECT value AS i FROM json_each('{list(range(50))}')"),
    call("a query that begins with WITH", "read_query", query="WITH n AS (SELECT 1 AS i) SELECT i FROM n"),
    call("SQL that is wrong", "read_query", query="SELECT FROM WHERE"),
    call("a missing table read", "read_query", query="SELECT * FROM none"),
    call("a missing column read", "read_query", query="SELECT colour FROM orders"),
    call("a write where reading is meant", "read_query", query="DELETE FROM orders"),
    call("a query that is missing", "read_query"),
    call("a query that is a number", "read_query", query=7),
    call("a row written", "write_query", query="INSERT INTO orders VALUES (4, 'zoe', 1, NULL)"),
    call("a row written again", "write_query", query="INSERT INTO orders VALUES (4, 'zoe', 1, NULL)"),
    call("rows changed", "write_query", query="UPDATE orders SET price = price + 1"),
    call("no rows changed", "write_query", query="DELETE FROM orders WHERE id = 99"),
    call("a read where writing is meant", "write_query", query="SELECT 1"),
    call("a table made", "create_table", query="CREATE TABLE owls (name TEXT)"),
    call("a table made again", "create_table", query="CREATE TABLE owls (name TEXT)"),
    call("no table made", "create_table", query="DROP TABLE owls"),
    call("an insight", "append_insight", insight="Ada buys the most."),
    call("no insight", "append_insight"),
    call("an unknown tool", "drop_everything"),
    ask("a list of resources", "resources/list"),
    ask("the insights as a resource", "resources/read", uri="memo://insights"),
    ask("a resource that is not there", "resources/read", uri="memo://none"),
    ask("a list of prompts", "prompts/list"),
]  # fmt: skip

CONVERSATIONS: dict[str, list[Conversation]] = {
    "everything": [
        Conversation(EVERYTHING),
        Conversation(EVERYTHING_BEFORE_STRUCTURE, revision="2024-11-05"),
    ],
    "filesystem": [
        Conversation(FILESYSTEM, prepare=lay_out_files),
        Conversation(FILESYSTEM_BEFORE_STRUCTURE, revision="2025-03-26", prepare=lay_out_files),
    ],
    "memory": [Conversation(MEMORY, env={"MEMORY_FILE_PATH": f"{FOLDER}/memory.jsonl"})],
    "sequential-thinking": [Conversation(THINKING)],
    "time": [Conversation(TIME), Conversation(TIME_WITH_HANDSHAKE, revision="2025-11-25")],
    "git": [Conversation(GIT_CASES, prepare=lay_out_repo, env=GIT)],
    "fetch": [
        Conversation(FETCH, words=("--allow-private-ips",)),
        Conversation(FETCH_IN_PUBLIC),
    ],
    "sqlite": [Conversation(SQLITE, prepare=lay_out_database)],
}
