"""`accord resources`, `prompts`, `read-resource`, `get-prompt`: for every kind of target."""

import json
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest

from cli.command import ACCORD, accord, accord_in_terminal, assert_one_line_of_misuse, write
from http_peer import HttpServer
from sources.sql.shop import make

SHELF = '''
from accord import Context, Image, Message, Server

server = Server("shelf", version="1.0")
PICTURE = b"\\x89PNG"

@server.resource("shelf://hours", mime_type="text/plain")
def hours() -> str:
    """When the shop is open.

    A second paragraph, which the table leaves out.
    """
    return "9 to 5 \\x1b[31m"

@server.resource("shelf://logo", mime_type="image/png")
def logo() -> bytes:
    """The picture over the door."""
    print("printed by a resource")
    return PICTURE

@server.resource("shelf://items/{number}", mime_type="application/json")
def item(number: int) -> dict[str, int]:
    """One item."""
    return {"number": number}

@server.prompt
def greet(name: str, mood: str = "") -> list[Message]:
    """Greet a customer."""
    return [Message(f"Greet {name}{mood}."), Message("Gladly.", "assistant"), Message(Image(PICTURE, "image/png"))]

bare = Server("bare", version="2.0")

@bare.tool
def nothing() -> None: ...
'''
RESOURCES = """\
shelf 1.0: 2 resources, 1 template
  shelf://hours           When the shop is open. [text/plain]
  shelf://logo            The picture over the door. [image/png]
  shelf://items/{number}  One item. [application/json]
"""
PROMPTS = "shelf 1.0: 1 prompt\n  greet(name, mood?)  Greet a customer.\n"
COMMAND = f"{quote(ACCORD)} serve shelf"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write(tmp_path_factory.mktemp("shelf"), shelf=SHELF)
    servers = {"mcpServers": {"shelf": {"command": ACCORD, "args": ["serve", "shelf"]}}}
    (folder / "mcp.json").write_text(json.dumps(servers))
    (folder / "accord.toml").write_text('[s]\ntarget = "shelf.py"\n')
    make(folder / "shop.db")
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    command = [ACCORD, "serve", "shelf", "--http", "127.0.0.1:0", "--no-page"]
    with HttpServer(command, cwd=folder) as server:
        yield server.url


@pytest.fixture(params=["shelf", COMMAND, "a URL"], ids=["local", "a command line", "a URL"])
def target(request: pytest.FixtureRequest, url: str) -> str:
    return url if request.param == "a URL" else str(request.param)


def test_resources_and_prompts_are_listed(folder: Path, target: str) -> None:
    assert accord("resources", target, cwd=folder) == (0, RESOURCES, "")
    assert accord("prompts", target, cwd=folder) == (0, PROMPTS, "")


def test_lists_are_printed_as_json(folder: Path, target: str) -> None:
    found = json.loads(accord("resources", target, "--json", cwd=folder).out)
    uris = [each.get("uri", each.get("uriTemplate")) for each in found]
    assert uris == ["shelf://hours", "shelf://logo", "shelf://items/{number}"]
    (prompt,) = json.loads(accord("prompts", target, "--json", cwd=folder).out)
    assert (prompt["name"], prompt["arguments"][0]["name"]) == ("greet", "name")


def test_text_is_printed_and_other_content_saved(folder: Path, target: str, tmp_path: Path) -> None:
    assert accord("read-resource", target, "shelf://hours", cwd=folder).out == "9 to 5 \x1b[31m\n"
    done = accord("read-resource", target, "shelf://items/7", cwd=folder)
    assert (done.code, json.loads(done.out)) == (0, {"number": 7})
    logo = ["read-resource", target, "shelf://logo"]
    first = accord(*logo, "--save-to", str(tmp_path), cwd=folder)
    assert (first.code, first.out) == (0, "")
    assert f"saved: {tmp_path / 'logo.png'} (image/png, 4 bytes)\n" in first.err
    accord(*logo, "--save-to", str(tmp_path), cwd=folder)
    accord(*logo, "-o", str(tmp_path / "door"), cwd=folder)
    assert {file.name for file in tmp_path.iterdir()} == {"logo.png", "logo-2.png", "door"}
    assert {file.read_bytes() for file in tmp_path.iterdir()} == {b"\x89PNG"}


def test_the_messages_of_a_prompt_are_printed(folder: Path, target: str, tmp_path: Path) -> None:
    words = ["get-prompt", target, "greet", "name=Ada"]
    done = accord(*words, "--save-to", str(tmp_path), cwd=folder)
    assert done.out == "user:\nGreet Ada.\n\nassistant:\nGladly.\n\nuser:\n"
    assert done.err == f"saved: {tmp_path / 'greet.png'} (image/png, 4 bytes)\n"
    raw = json.loads(accord(*words, "--json", cwd=folder).out)
    assert [each["role"] for each in raw["messages"]] == ["user", "assistant", "user"]


def test_what_a_server_refuses_is_printed_with_a_suggestion(folder: Path, target: str) -> None:
    done = accord("read-resource", target, "shelf://hour", cwd=folder)
    assert done == (1, "", "error: Resource not found; did you mean 'shelf://hours'?\n")
    done = accord("get-prompt", target, "great", cwd=folder)
    assert done == (1, "", "error: Unknown prompt: great; did you mean 'greet'?\n")
    done = accord("get-prompt", target, "greet", cwd=folder)
    assert (done.code, done.out) == (1, "")
    assert "name is required" in done.err


def test_several_servers_have_a_table_each_and_prefixes(folder: Path) -> None:
    done = accord("prompts", "a=shelf", f"b={COMMAND}", cwd=folder)
    assert [line.split("(")[0] for line in done.out.splitlines() if "(" in line] == [
        "  a_greet",
        "  b_greet",
    ]
    for target in ("a=shelf", f"a={COMMAND}"):
        found = accord("get-prompt", target, "a_greet", "name=Ada", cwd=folder)
        assert "Greet Ada." in found.out


@pytest.mark.parametrize(
    ("target", "fragment"),
    [
        (["mcp.json"], "The picture over the door."),
        (["accord.toml"], "The picture over the door."),
        (["shop.db", "--explore"], "schema"),
        (["shelf:bare"], "bare 2.0: 0 resources"),
        (["sheets"], "0 resources"),
    ],
    ids=str,
)
def test_every_kind_of_target_is_listed(folder: Path, target: list[str], fragment: str) -> None:
    done = accord("resources", *target, cwd=folder)
    assert (done.code, done.err) == (0, "")
    assert fragment in done.out


def test_a_terminal_is_not_driven_by_a_resource(folder: Path) -> None:
    shown = accord_in_terminal(80, "read-resource", "shelf", "shelf://hours", cwd=folder)
    assert shown == "9 to 5 \\u001b[31m\n"


MISUSE: dict[str, tuple[list[str], str]] = {
    "a header for a local server": (["resources", "shelf", "--header", "a: b"], "--header"),
    "the reader": (["resources", "reader"], "the reader has no tools"),
    "a number for a prompt": (["get-prompt", "shelf", "greet", "name:=5"], "name must be a text"),
    "a folder that does not exist": (
        ["read-resource", "shelf", "shelf://logo", "--save-to", "nowhere"],
        "could not save logo.png in nowhere",
    ),
    "a file that cannot be written": (
        ["read-resource", "shelf", "shelf://logo", "-o", "nowhere/logo.png"],
        "could not write nowhere/logo.png",
    ),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_one_line(folder: Path, name: str) -> None:
    words, fragment = MISUSE[name]
    done = accord(*words, cwd=folder)
    if "printed by a resource\n" in done.err:
        done = done._replace(err=done.err.replace("printed by a resource\n", ""))
    assert_one_line_of_misuse(done, fragment)
