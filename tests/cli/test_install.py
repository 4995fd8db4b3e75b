"""`accord install`: the entry that is written, the rest unchanged, and that a client can start it."""

import json
import os
import pty
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.command import (
    ACCORD,
    ENVIRONMENT,
    EXAMPLES,
    Done,
    accord,
    accord_each,
    assert_one_line_of_misuse,
    write,
)
from commands import Popen
from sources.sql.shop import make
from stdio_peer import StdioPeer

SHOP = str(EXAMPLES / "shop.py")
ENTRY = {"command": ACCORD, "args": ["serve", f"{SHOP}:server"]}
TYPED = {"type": "stdio", **ENTRY}
PLACES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "claude-desktop": ("home/.config/Claude/claude_desktop_config.json", "mcpServers", ENTRY),
    "claude-code": ("work/.mcp.json", "mcpServers", TYPED),
    "cursor": ("home/.cursor/mcp.json", "mcpServers", ENTRY),
    "vscode": ("work/.vscode/mcp.json", "servers", TYPED),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's home, and a folder that they work in."""
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setitem(ENVIRONMENT, "HOME", str(tmp_path / "home"))
    monkeypatch.delitem(ENVIRONMENT, "XDG_CONFIG_HOME", raising=False)
    return tmp_path


def install(folder: Path, *words: str) -> Done:
    return accord("install", *words, cwd=folder / "work")


@pytest.mark.parametrize("client", PLACES)
def test_a_server_is_written_where_its_client_looks(folder: Path, client: str) -> None:
    place, member, entry = PLACES[client]
    done = install(folder, client, f"{SHOP}:server", "--yes")
    assert (done.code, done.err) == (0, "")
    assert json.loads((folder / place).read_text()) == {member: {"shop": entry}}
    assert f'+    "{"shop"}": {{' in done.out, "the change is shown"
    assert str(folder / place) in done.out
    again = install(folder, client, f"{SHOP}:server", "--yes")
    assert "already" in again.out
    assert len(list((folder / place).parent.iterdir())) == 1, "and nothing is left behind"


def test_a_client_can_start_what_was_written(folder: Path) -> None:
    shown = install(folder, "cursor", SHOP, "--print", "--name", "s", "--serve=--profile envelope")
    entry = json.loads(shown.out)["mcpServers"]["s"]
    with StdioPeer([entry["command"], *entry["args"]], cwd=folder) as peer:
        reply = peer.modern("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
    assert reply["result"]["structuredContent"]["data"] == {"result": 5}


def test_a_database_and_the_filler_are_found_from_anywhere(folder: Path) -> None:
    work = folder / "work"
    shop = make(work / "shop.db")
    make(work / "odd name")
    (work / "sheets").mkdir()
    written = {
        target: json.loads(install(folder, "cursor", target, "--name", "s", "--print").out)
        for target in ("shop.db", "sqlite:///shop.db", "sqlite:///odd%20name", "sheets")
    }
    assert {target: said["mcpServers"]["s"]["args"] for target, said in written.items()} == {
        "shop.db": ["serve", str(shop)],
        "sqlite:///shop.db": ["serve", str(shop)],
        "sqlite:///odd%20name": ["serve", f"sqlite:///{work}/odd%20name"],
        "sheets": ["serve", "sheets", "--out", str(work)],
    }


def test_each_database_has_an_entry_of_its_own(folder: Path) -> None:
    work = folder / "work"
    for name in ("shop.db", "stock.sqlite"):
        make(work / name)
    for target in ("shop.db", "sqlite:///stock.sqlite"):
        assert install(folder, "claude-code", target, "--yes").code == 0
    shown = install(folder, "claude-code", "postgresql://me@db.example/orders", "--print")
    assert list(json.loads(shown.out)["mcpServers"]) == ["orders"]
    entries = json.loads((work / ".mcp.json").read_text())["mcpServers"]
    assert {name: entry["args"][1] for name, entry in entries.items()} == {
        "shop": str(work / "shop.db"),
        "stock": str(work / "stock.sqlite"),
    }


def test_an_entry_of_another_server_is_replaced_by_its_name_only(folder: Path) -> None:
    work, path = folder / "work", folder / "work/.mcp.json"
    make(work / "shop.db")
    assert install(folder, "claude-code", SHOP, "--yes").code == 0
    before = path.read_text()
    refused = install(folder, "claude-code", "shop.db", "--yes")
    assert_one_line_of_misuse(refused, "'shop'", SHOP, "--name")
    assert path.read_text() == before
    again = install(folder, "claude-code", SHOP, "--yes", "--serve=--profile envelope")
    assert again.code == 0, "the same server with other options is no other"
    assert install(folder, "claude-code", "shop.db", "--yes", "--name", "shop").code == 0
    (entry,) = json.loads(path.read_text())["mcpServers"].values()
    assert entry["args"] == ["serve", str(work / "shop.db")]


@pytest.mark.parametrize("there", [{"command": "npx", "args": ["shop"]}, {"args": None}, {}, 5])
def test_an_entry_of_any_other_kind_is_not_replaced_either(folder: Path, there: Any) -> None:
    path = folder / "work/.mcp.json"
    path.write_text(json.dumps({"mcpServers": {"shop": there}}))
    done = install(folder, "claude-code", SHOP, "--yes")
    assert_one_line_of_misuse(done, "another 'shop'", "--name")


@pytest.mark.parametrize("target", ["fresh.db", "sqlite:///fresh.db"])
def test_a_database_that_is_to_be_made_is_not_made_yet(folder: Path, target: str) -> None:
    done = install(folder, "cursor", target, "--serve=--create", "--print")
    assert json.loads(done.out)["mcpServers"]["fresh"]["args"] == [
        *("serve", str(folder / "work/fresh.db"), "--create"),
    ]
    assert list((folder / "work").iterdir()) == []


@pytest.mark.parametrize("target", ["django:storefront.settings", "inner.shop:server"])
def test_what_is_found_in_this_folder_alone_is_started_from_any(folder: Path, target: str) -> None:
    work = shutil.copytree(EXAMPLES / "drf_shop", folder / "project")
    (work / "inner").mkdir()
    shutil.copy(SHOP, work / "inner")
    shown = accord("install", "cursor", target, "--name", "s", "--print", cwd=work)
    entry = json.loads(shown.out)["mcpServers"]["s"]
    assert entry["env"] == {"PYTHONPATH": str(work)}
    command, env = [entry["command"], *entry["args"]], ENVIRONMENT | entry["env"]
    with StdioPeer(command, cwd=folder, env=env) as peer:
        assert peer.modern("tools/list", {})["result"]["tools"]


def test_what_has_a_path_needs_no_folder(folder: Path) -> None:
    entry = json.loads(install(folder, "cursor", SHOP, "--print").out)["mcpServers"]["shop"]
    assert "env" not in entry


def test_print_only_prints(folder: Path) -> None:
    done = install(folder, "vscode", f"{SHOP}:server", "--print")
    assert json.loads(done.out) == {"servers": {"shop": TYPED}}
    assert list((folder / "work").iterdir()) == []
    assert list((folder / "home").iterdir()) == []


@pytest.mark.parametrize("target", ["shop:server", "shop.py:server", "./shop.py:server"])
def test_a_target_means_the_same_from_anywhere(target: str) -> None:
    done = accord("install", "cursor", target, "--print")
    (entry,) = json.loads(done.out)["mcpServers"].values()
    assert Path(entry["args"][1].removesuffix(":server")).resolve() == Path(SHOP)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", ["--out", "HERE"]),
        ("--out party", ["--out", "HERE/party"]),
        ("--out=party --paper letter", ["--out=HERE/party", "--paper", "letter"]),
        ("--key-file key --out /srv", ["--key-file", "HERE/key", "--out", "/srv"]),
    ],
)
def test_a_path_among_the_options_means_the_same_from_anywhere(
    tmp_path: Path, said: str, expected: list[str]
) -> None:
    done = accord("install", "cursor", "sheets", f"--serve={said}", "--print", cwd=tmp_path)
    (entry,) = json.loads(done.out)["mcpServers"].values()
    here = [word.replace("HERE", str(tmp_path)) for word in expected]
    assert entry["args"] == ["serve", "sheets", *here]


def test_what_else_is_in_the_file_stays(folder: Path) -> None:
    path = folder / "work/.mcp.json"
    before = '{\n\t"théme": "dark",\n\t"n": 123456789012345678901234567890,\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}'
    path.write_text(before)
    path.chmod(0o600)
    done = install(folder, "claude-code", f"{SHOP}:server", "--yes")
    after = path.read_text()
    assert json.loads(after) == json.loads(before) | {"mcpServers": {"a": {}, "shop": TYPED}}
    assert after.startswith('{\n\t"théme": "dark"'), "as it was indented"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (backup,) = path.parent.glob(".mcp.json.*.bak")
    assert backup.read_text() == before
    assert str(backup) in done.out


def test_a_file_that_is_a_link_stays_one(folder: Path) -> None:
    real = folder / "real.json"
    real.write_text("{}")
    path = folder / "work/.mcp.json"
    path.symlink_to(real)
    assert install(folder, "claude-code", SHOP, "--yes").code == 0
    assert path.is_symlink()
    assert "shop" in json.loads(real.read_text())["mcpServers"]


BROKEN: dict[str, str | bytes] = {
    "comments": '{\n  // mine\n  "mcpServers": {}\n}',
    "a list": "[]",
    "servers that are none": '{"mcpServers": []}',
    "no UTF-8": b"\xff",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_understood_is_left_alone(folder: Path, name: str) -> None:
    path = folder / "work/.mcp.json"
    content = BROKEN[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    assert_one_line_of_misuse(install(folder, "claude-code", SHOP, "--yes"), str(path))
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [".mcp.json"]


def test_what_cannot_be_is_one_line_and_nothing_is_written(folder: Path) -> None:
    work = write(folder / "work", empty="")
    (work / "folder").mkdir()
    (work / "file").write_text("")
    table = {
        "nobody to ask": ["install", "cursor", SHOP],
        "no such client": ["install", "emacs", SHOP],
        "no such target": ["install", "cursor", "nowhere:server", "--yes"],
        "no server in it": ["install", "cursor", "empty", "--yes"],
        "no such option": ["install", "cursor", SHOP, "--yes", "--serve=--dance"],
        "the reader": ["install", "cursor", "reader", "--yes"],
        "HTTP": ["install", "cursor", SHOP, "--yes", "--serve=--http 127.0.0.1:0"],
        "a page": ["install", "cursor", SHOP, "--yes", "--serve=--no-page"],
        "a database's option": ["install", "cursor", SHOP, "--yes", "--serve=--create"],
        "no database": ["install", "cursor", "fresh.db", "--yes"],
        "half a quote": ["install", "cursor", SHOP, "--yes", "--serve='x"],
        "a folder": ["install", "cursor", SHOP, "--yes", "--file", "folder"],
        "no place for it": ["install", "cursor", SHOP, "--yes", "--file", "file/x.json"],
    }
    for name, done in accord_each(table, cwd=work).items():
        assert_one_line_of_misuse(done)
        assert name != "nobody to ask" or "--yes" in done.err
    assert not (folder / "home/.cursor").exists()


@pytest.mark.parametrize(("answer", "is_written"), [("y", True), ("n", False), ("", False)])
def test_at_a_terminal_it_asks(folder: Path, answer: str, is_written: bool) -> None:
    master, slave = pty.openpty()
    with Popen(
        [ACCORD, "install", "cursor", SHOP],
        env=ENVIRONMENT,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        os.write(master, f"{answer}\n".encode())
        assert running.stdout is not None
        shown = running.stdout.read()
    os.close(slave)
    os.close(master)
    assert "write this? [y/N]" in shown
    assert running.returncode == (0 if is_written else 1)
    assert (folder / "home/.cursor/mcp.json").exists() is is_written
