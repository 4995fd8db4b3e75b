"""`NAME=TARGET`, which gives the tools of a target a prefix, and `accord.toml`."""

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from accord.cli import targets
from accord.cli.config_file import read_config
from accord.errors import ContractError
from cli.command import EXAMPLES, accord, accord_each, assert_one_line_of_misuse, write
from commands import ACCORD
from http_peer import HttpPeer, HttpServer
from stdio_peer import StdioPeer

SERVER = """
from accord import Server

server = Server("{name}", version="1.0", instructions="Ask {name}.")


@server.tool
def add(a: int) -> int:
    return a


@server.prompt
def hello() -> str:
    return "{name}"
"""


def database(path: Path, *names: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE artist (name TEXT)")
        connection.executemany("INSERT INTO artist VALUES (?)", [(name,) for name in names])
        connection.commit()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two databases and two modules."""
    database(tmp_path / "chinook.db", "AC/DC", "Accept")
    database(tmp_path / "northwind.db", *"abcde")
    return write(tmp_path, one=SERVER.format(name="one"), two=SERVER.format(name="two"))


@pytest.mark.parametrize(
    ("word", "name", "target"),
    [
        ("chinook=chinook.db", "chinook", "chinook.db"),
        ("a-b_1=x", "a-b_1", "x"),
        ("a=b=c.db", "a", "b=c.db"),
        ("FOO=bar npx server", "FOO", "bar npx server"),
        ("pg=postgresql://u@h/db?x=y", "pg", "postgresql://u@h/db?x=y"),
        ("postgresql://u@h/db?x=y", None, "postgresql://u@h/db?x=y"),
        ("https://example.com/?a=b", None, "https://example.com/?a=b"),
        ("npx server --a=b", None, "npx server --a=b"),
        ("./a=b.db", None, "./a=b.db"),
        ("1a=b.db", None, "1a=b.db"),
        ("é=b.db", None, "é=b.db"),
        ("=b.db", None, "=b.db"),
        ("env A=b npx x", None, "env A=b npx x"),
    ],
)
def test_a_name_is_a_word_before_the_first_equals_sign(
    word: str, name: str | None, target: str
) -> None:
    found = targets.parse(word)
    assert (found.name, found.target, found.word) == (name, target, word)


def test_two_databases_are_served_with_prefixes(folder: Path) -> None:
    command = [ACCORD, "serve", "chinook=chinook.db", "northwind=northwind.db", "--max-rows", "2"]
    with StdioPeer(command, cwd=folder) as peer:
        assert peer.initialize()["result"]["serverInfo"]["name"] == "chinook+northwind"
        names = [tool["name"] for tool in peer.request("tools/list")["result"]["tools"]]
        assert names[:2] == ["chinook_list_tables", "chinook_describe_table"]
        assert len(names) == 12
        assert "northwind_run_query" in names
        query: dict[str, Any] = {"query": "SELECT name FROM artist"}
        found = []
        for name in ("chinook", "northwind"):
            reply = peer.request("tools/call", {"name": f"{name}_run_query", "arguments": query})
            found.append(reply["result"])
        assert "AC/DC" in found[0]["content"][0]["text"]
        page = found[1]["_meta"]["dev.accord-mcp/answer"]["page"]
        assert (page["limit"], page["hasMore"]) == (2, True), "an option is for all of them"
        more = peer.request(
            "tools/call",
            {"name": "northwind_run_query", "arguments": {**query, "cursor": page["cursor"]}},
        )["result"]
        assert more["structuredContent"]["result"] == [
            {"name": "c"},
            {"name": "d"},
        ]
        error = peer.request("tools/call", {"name": "chinook_run_query", "arguments": {"query": 5}})
        assert "chinook_run_query" in error["result"]["content"][0]["text"]


def test_named_modules_are_served(folder: Path) -> None:
    with StdioPeer([ACCORD, "serve", "a=one", "b=two.py:server", "c=one"], cwd=folder) as peer:
        result = peer.initialize()["result"]
        assert result["serverInfo"]["name"] == "a+b+c"
        assert result["instructions"].startswith(
            "For tools and prompts whose names begin with a_:\nAsk one."
        )
        tools = [tool["name"] for tool in peer.request("tools/list")["result"]["tools"]]
        assert tools == ["a_add", "b_add", "c_add"]
        prompts = [each["name"] for each in peer.request("prompts/list")["result"]["prompts"]]
        assert prompts == ["a_hello", "b_hello", "c_hello"]


def test_every_verb_takes_a_name(folder: Path) -> None:
    remote = f"{ACCORD} serve one"
    done = accord_each(
        {
            "tools": ["tools", "chinook=chinook.db", "northwind=northwind.db", "--read-only"],
            "one": ["tools", "x=one"],
            "json": ["tools", "x=one", "y=two", "--json"],
            "remote": ["tools", f"far={remote}"],
            "call": ["call", "chinook=chinook.db", "chinook_list_tables"],
            "call remote": ["call", f"far={remote}", "far_add", '{"a": 7}'],
            "no prefix": ["call", f"far={remote}", "add", '{"a": 7}'],
            "inspect": ["inspect", "x=one"],
        },
        folder,
    )
    assert done["tools"].out.startswith("chinook+northwind 1.0.0+1.0.0: 6 tools\n")
    assert "  northwind_run_query(query, params?," in done["tools"].out
    assert done["one"].out.startswith("x 1.0: 1 tool\n  x_add(a)")
    assert [each["name"] for each in json.loads(done["json"].out)] == ["x_add", "y_add"]
    assert done["remote"].out.startswith("far 1.0: 1 tool\n  far_add(a)")
    assert json.loads(done["call"].out) == ["artist"]
    assert (done["call remote"].code, done["call remote"].out) == (0, "7\n")
    assert_one_line_of_misuse(done["no prefix"], "no tool 'add'", "begin with far_: far_add")
    assert_one_line_of_misuse(done["inspect"], "x=one is not a command line or URL")


BAD = {
    "a name twice": (
        ["tools", "a=chinook.db", "a=northwind.db"],
        "two targets are named a; give each a name of its own",
    ),
    "no target": (["tools", "a="], "a= has no target; write a=shop.db, for example"),
    "a collision": (
        ["serve", "chinook.db", "northwind.db"],
        "both chinook.db and northwind.db have a tool 'list_tables'; give each a name:"
        " chinook=chinook.db northwind=northwind.db",
    ),
    "the same server": (["tools", "one", "one.py:server"], "both one and one.py:server have"),
    "a collision of modules": (
        ["tools", "one.py", "two:server"],
        "both one.py and two:server have a tool 'add'; give each a name: one=one.py two=two:server",
    ),
    "a file with an equals sign": (
        ["tools", "a=b.db"],
        "a=b.db is the target b.db with the name a: for the file write ./a=b.db",
    ),
    "a variable": (
        ["tools", "FOO=bar-does-not-exist npx"],
        "for a variable write 'env FOO=bar-does-not-exist npx'",
    ),
    "a module that does not exist": (["tools", "x=gone"], "could not import gone"),
    "a name for a file": (
        ["tools", "x=accord.toml"],
        "accord.toml has the names of its targets; write it without x=",
    ),
    "a long name": (
        ["tools", f"{'x' * 126}=one"],
        "tool 'add' of",
    ),
}


def test_a_wrong_name_is_one_line_that_says_what_to_write(folder: Path) -> None:
    database(folder / "a=b.db")
    done = accord_each({name: words for name, (words, _) in BAD.items()}, folder)
    for name, (_, message) in BAD.items():
        assert_one_line_of_misuse(done[name], message)
    done_with_path = accord("tools", "./a=b.db", cwd=folder)
    assert done_with_path.code == 0


def test_a_file_may_have_blanks_in_its_path(folder: Path) -> None:
    (folder / "my files").mkdir()
    (folder / "my files" / "a b.toml").write_text('[a]\ntarget = "../one.py"\n')
    assert accord("tools", "my files/a b.toml", cwd=folder).out.startswith("a 1.0: 1 tool")
    assert not targets.is_config("https://example.com/x.toml")
    assert not targets.is_config("serve x.toml")


def test_a_name_that_some_clients_refuse_is_a_warning(folder: Path) -> None:
    done = accord("tools", f"{'x' * 64}=one", cwd=folder)
    assert done.code == 0
    assert "has 68 characters, and the most is 64" in done.err


def test_a_named_target_is_installed(folder: Path) -> None:
    done = accord("install", "cursor", "music=chinook.db", "--print", cwd=folder)
    entry = json.loads(done.out)["mcpServers"]["music"]
    assert entry["args"] == ["serve", f"music={folder / 'chinook.db'}"]
    done = accord("install", "cursor", "x=one", "--print", cwd=folder)
    entry = json.loads(done.out)["mcpServers"]["x"]
    assert entry["args"] == ["serve", f"x={folder / 'one.py'}"]


def test_the_tools_of_a_named_target_complete(folder: Path) -> None:
    done = accord("completion", "candidates", "accord call x=one x_", cwd=folder)
    assert done.out == "x_add\n"


# accord.toml

CONFIG = """
name = "shops"
server-version = "2.0"
max-rows = 1

[chinook]
target = "chinook.db"
read-only = true

[north]
target = "northwind.db"
max_rows = 2
allow = ["artist"]
profile = "envelope"

[code]
target = "one.py"
"""


@pytest.fixture
def elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another folder than that of the file."""
    (folder / "accord.toml").write_text(CONFIG)
    return tmp_path_factory.mktemp("elsewhere")


def test_a_file_has_targets_with_options(folder: Path, elsewhere: Path) -> None:
    for cwd, file in ((folder, "accord.toml"), (elsewhere, str(folder / "accord.toml"))):
        with StdioPeer([ACCORD, "serve", file], cwd=cwd) as peer:
            info = peer.initialize()["result"]["serverInfo"]
            assert (info["name"], info["version"]) == ("shops", "2.0")
            names = [tool["name"] for tool in peer.request("tools/list")["result"]["tools"]]
            assert [name for name in names if name.startswith("chinook")] == [
                "chinook_list_tables",
                "chinook_describe_table",
                "chinook_run_query",
            ]
            assert "north_insert_row" in names
            assert names[-1] == "code_add"
            arguments = {"query": "SELECT name FROM artist"}
            reply = peer.request("tools/call", {"name": "north_run_query", "arguments": arguments})
            envelope = json.loads(reply["result"]["content"][0]["text"])
            assert len(envelope["data"]["rows"]) == 2, "that of its table"
            reply = peer.request(
                "tools/call", {"name": "chinook_run_query", "arguments": arguments}
            )
            page = reply["result"]["_meta"]["dev.accord-mcp/answer"]["page"]
            assert page["limit"] == 1, "that at the top"


def test_the_command_line_wins_over_the_file(folder: Path, elsewhere: Path) -> None:
    words = [ACCORD, "serve", str(folder / "accord.toml"), "--max-rows", "1", "--name", "mine"]
    with StdioPeer([*words, "--profile", "plain"], cwd=elsewhere) as peer:
        assert peer.initialize()["result"]["serverInfo"]["name"] == "mine"
        arguments = {"query": "SELECT name FROM artist"}
        reply = peer.request("tools/call", {"name": "north_run_query", "arguments": arguments})
        assert reply["result"]["structuredContent"]["result"] == [{"name": "a"}]


def test_tools_call_and_install_take_a_file(folder: Path, elsewhere: Path) -> None:
    file = str(folder / "accord.toml")
    done = accord_each(
        {
            "tools": ["tools", file],
            "call": ["call", file, "code_add", '{"a": 3}'],
            "install": ["install", "cursor", file, "--print"],
            "inspect": ["inspect", file],
            "and another": ["tools", file, f"two={folder / 'two.py'}"],
        },
        elsewhere,
    )
    assert done["tools"].out.startswith("chinook+north+code")
    assert done["call"].out == "3\n"
    (entry,) = json.loads(done["install"].out)["mcpServers"].values()
    assert entry["args"] == ["serve", file]
    assert_one_line_of_misuse(done["inspect"], "is not a command line or URL")
    assert "two_add" in done["and another"].out


def test_a_file_can_name_the_address(folder: Path) -> None:
    (folder / "web.toml").write_text(
        'http = "127.0.0.1:0"\nno-page = true\n[shop]\ntarget = "one:server"\n'
    )
    with (
        HttpServer([ACCORD, "serve", "web.toml"], cwd=folder) as server,
        HttpPeer(server.port) as peer,
    ):
        assert peer.call("shop_add", a=5) == "5"


def test_a_module_in_a_file_is_found_beside_it(folder: Path, elsewhere: Path) -> None:
    (folder / "module.toml").write_text('[x]\ntarget = "two:server"\n')
    done = accord("tools", str(folder / "module.toml"), cwd=elsewhere)
    assert done.out.startswith("x 1.0: 1 tool")


def test_a_file_may_begin_with_a_byte_order_mark(folder: Path) -> None:
    (folder / "mark.toml").write_bytes(b'\xef\xbb\xbf[x]\r\ntarget = "two.py"\r\n')
    assert accord("tools", "mark.toml", cwd=folder).out.startswith("x 1.0: 1 tool")


FAULTS: dict[str, tuple[str, str]] = {
    "bad TOML": ("[a]\ntarget = \n", r"is not valid TOML: .*\(at line 2, column 10\)"),
    "deep nesting": (f"a = {'[' * 9_000}", "is not valid TOML: it is nested too deeply"),
    "nothing": ("", r"has no targets; add one: \[shop\], and below it target = \"shop.db\""),
    "no target": ('name = "x"\n\n[a]\nread-only = true\n', r":3: \[a\] needs a target, such as"),
    "a target that is a number": ("[a]\ntarget = 5\n", r":2: \[a\] needs a target"),
    "an unknown option": (
        '[a]\ntarget = "chinook.db"\nmax-row = 5\n',
        r":3: \[a\] there is no option 'max-row'; did you mean 'max-rows'\? options: allow, create",
    ),
    "an unknown option at the top": ('nmae = "x"\n[a]\ntarget="x.db"\n', r":1: .* 'name'\?"),
    "an option of serve": (
        '[a]\ntarget = "chinook.db"\nhttp = "x"\n',
        r":3: \[a\] there is no option 'http'; options:",
    ),
    "a number for a flag": (
        '[a]\ntarget = "chinook.db"\nread-only = 1\n',
        r":3: \[a\] read-only must be true or false",
    ),
    "a text for a number": (
        '[a]\ntarget = "chinook.db"\nmax-rows = "5"\n',
        r":3: \[a\] max-rows must be a whole number",
    ),
    "a flag for a number": (
        '[a]\ntarget = "chinook.db"\nmax-rows = true\n',
        r":3: \[a\] max-rows must be a whole number",
    ),
    "a float for a whole number": (
        '[a]\ntarget = "chinook.db"\nmax-rows = 1.5\n',
        r":3: \[a\] max-rows must be a whole number",
    ),
    "a number for a text": ('name = 5\n[a]\ntarget = "x.db"\n', r":1: name must be a string"),
    "no choice": (
        '[a]\ntarget = "one.py"\nprofile = "fancy"\n',
        r":3: \[a\] profile must be one of plain, envelope, bare, prose, generic",
    ),
    "an option for another kind": (
        '[a]\ntarget = "one.py"\nread-only = true\n',
        r":3: \[a\] read-only is only for a database; one.py is not one",
    ),
    "an option for sheets": (
        '[a]\ntarget = "one.py"\npaper = "a4"\n',
        r":3: \[a\] paper is only for the target sheets",
    ),
    "an option twice": (
        '[a]\ntarget = "chinook.db"\nmax-rows = 1\nmax_rows = 2\n',
        r":\d: \[a\] max_rows is there twice, with - and with _",
    ),
    "a bad name": ('["a b"]\ntarget = "x.db"\n', r":1: \[a b\] a name is a letter, then"),
    "several tables": ('[[a]]\ntarget = "x.db"\n', r"there is no option 'a'"),
    "a table in a table": (
        '[a]\ntarget = "chinook.db"\n[a.max-rows]\nx = 1\n',
        r"\[a\] max-rows must be a whole number",
    ),
    "an option for no target": (
        'wal = true\n[a]\ntarget = "one.py"\n',
        r":1: wal is only for a database; there is none",
    ),
    "another name for an option": ('contract = "v2"\n[a]\ntarget = "x.db"\n', r":1: .* 'contract'"),
    "a bad list": ('[a]\ntarget = "x.db"\nallow = [1]\n', r":3: \[a\] allow must be a string"),
    "an empty list": ('[a]\ntarget = "x.db"\nallow = []\n', r":3: \[a\] allow: must be names"),
    "a negative time": (
        'grace = -1\n[a]\ntarget = "x.db"\n',
        r":1: grace: must be a number of seconds, not '-1'",
    ),
    "the same server": ('[a]\ntarget = "x.db"\ntarget = "y.db"\n', r"is not valid TOML"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_file_is_one_line_with_its_place(tmp_path: Path, name: str) -> None:
    text, message = FAULTS[name]
    file = tmp_path / "accord.toml"
    file.write_text(text)
    with pytest.raises(ContractError) as error:
        read_config(file)
    assert re.search(message, str(error.value)), str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"\n')
    (tmp_path / "good.toml").write_text('[a]\ntarget = "x.db"\n')
    done = accord_each(
        {
            "gone": ["serve", "gone.toml"],
            "folder": ["serve", "folder.toml"],
            "latin": ["serve", "latin.toml"],
            "no database": ["serve", "good.toml"],
            "wrong option": ["serve", "good.toml", "--out", "x"],
        },
        tmp_path,
    )
    assert_one_line_of_misuse(done["gone"], "could not read gone.toml: No such file")
    assert_one_line_of_misuse(done["folder"], "could not read folder.toml: Is a directory")
    assert_one_line_of_misuse(done["latin"], "latin.toml is not valid TOML: it must be UTF-8")
    assert_one_line_of_misuse(done["no database"], f"database {tmp_path / 'x.db'} does not exist")
    assert_one_line_of_misuse(done["wrong option"], "--out is for the target sheets")


def test_options_are_read_as_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "accord.toml"
    file.write_text(
        'allow-host = ["a", "b"]\nkey-file = "key"\ngrace = 2\nlog_format = "json"\n'
        '[db]\ntarget = "sqlite:///sub/x.db"\nallow = "users, posts"\ntimeout = 1\n'
        '[pg]\ntarget = "postgresql://u@h/db?a=b"\n'
        '[sheets]\ntarget = "sheets"\nout = "/out"\nfont = ["a.ttf"]\n'
        '[project]\ntarget = "django:shop.settings"\n'
    )
    config = read_config(file)
    assert config.options == {
        "allow_host": ["a", "b"],
        "key_file": [tmp_path / "key"],
        "grace": 2.0,
        "log_format": "json",
    }
    db, pg, sheets, project = config.targets
    assert db.target == str(tmp_path / "sub" / "x.db")
    assert db.database == {"allow": frozenset({"users", "posts"}), "timeout": 1.0}
    assert pg.target == "postgresql://u@h/db?a=b"
    assert sheets.sheets == {"out": Path("/out"), "font": [tmp_path / "a.ttf"]}
    assert (project.target, project.folder) == ("django:shop.settings", tmp_path)


def test_tomllib_is_imported_for_a_file_only() -> None:
    done = accord("tools", "shop.py", cwd=EXAMPLES)
    assert done.code == 0
    code = (
        "import sys\nfrom accord.cli.main import main\nmain(['tools', 'shop.py'])\n"
        "assert 'tomllib' not in sys.modules"
    )
    import subprocess

    subprocess.run([sys.executable, "-c", code], cwd=EXAMPLES, check=True, capture_output=True)
