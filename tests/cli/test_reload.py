"""`accord serve --reload`: the server starts again when its source changes."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from accord.cli import reload, targets
from accord.cli.main import parser_of
from accord.cli.reload import Watcher, watcher_of
from accord.errors import ContractError
from cli.command import ENVIRONMENT, accord_each, assert_one_line_of_misuse
from commands import ACCORD, start
from http_peer import HttpPeer, HttpServer
from processes import children, is_gone
from serve.http.talk import eventually

SERVER = """
from accord import Server

server = Server("shop", version="{version}")


@server.tool
def version() -> str:
    return "{version}"
"""
STARTS = re.compile(r"(\S+)(?: and \d+ more)? ha(?:s|ve) changed; the server starts again")
SERVES = re.compile(r"MCP at (http://\S+)")
WAITS = re.compile(r"waiting for a change of the source")


def write(path: Path, version: str, source: str = SERVER) -> None:
    """Replace a file at once, as most editors do."""
    beside = path.with_suffix(".new")
    beside.write_text(source.format(version=version))
    beside.replace(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "shop.py", "1")
    return tmp_path


def reloading(folder: Path, *words: str, target: str = "shop.py") -> HttpServer:
    options = ["--http", "127.0.0.1:0", "--grace", "0.5", "--no-page", "--reload"]
    return HttpServer([ACCORD, "serve", target, *options, *words], cwd=folder, env=ENVIRONMENT)


def version_at(server: HttpServer) -> str:
    with HttpPeer(server.port) as peer:
        return peer.call("version")


@pytest.mark.parametrize("target", ["shop.py", "shop:server", "x=shop.py"])
def test_a_change_starts_the_server_again(folder: Path, target: str) -> None:
    with reloading(folder, target=target) as server:
        name = "x_version" if "=" in target else "version"
        for number, version in enumerate(["2", "3"], 1):
            write(folder / "shop.py", version)
            server.said(STARTS, number)
            server.said(SERVES, number + 1)
            with HttpPeer(server.port) as peer:
                assert peer.call(name) == version
    assert server.process.poll() == 0
    assert "Traceback" not in server.stderr


def test_a_session_survives(folder: Path) -> None:
    with reloading(folder) as server, HttpPeer(server.port, "2025-11-25") as peer:
        assert peer.call("version") == "1"
        write(folder / "shop.py", "2")
        server.said(SERVES, 2)
        with peer.again() as later:
            assert later.session == peer.session
            assert later.call("version") == "2"


def test_a_broken_source_is_shown_and_the_next_change_tries_again(folder: Path) -> None:
    with reloading(folder) as server:
        write(folder / "shop.py", "2", "x = (")
        server.said(WAITS)
        assert "could not import shop.py: SyntaxError" in server.stderr
        assert children(server.process.pid) == []
        write(folder / "shop.py", "3")
        server.said(SERVES, 2)
        assert version_at(server) == "3"


def test_a_source_that_is_broken_at_first_is_waited_for(folder: Path) -> None:
    write(folder / "shop.py", "0", "raise RuntimeError('{version}')")
    child = start(
        [ACCORD, "serve", "shop.py", "--http", "127.0.0.1:0", "--reload"],
        cwd=folder,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
    )
    lines = []
    try:
        assert child.stderr is not None
        with child.stderr as stream:
            for line in stream:
                lines.append(line.decode())
                if WAITS.search(lines[-1]):
                    write(folder / "shop.py", "1")
                if SERVES.search(lines[-1]):
                    break
    finally:
        child.terminate()
        assert child.wait(30) == 0
    assert "could not import shop.py: RuntimeError: 0 (shop.py:1)" in lines[0]


def test_another_module_of_the_folder_counts_too(folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("VERSION = 'a'\n")
    source = SERVER.replace('return "{version}"', "return VERSION").replace(
        "from accord", "from package import VERSION\nfrom accord", 1
    )
    write(folder / "shop.py", "1", source)
    with reloading(folder) as server:
        assert version_at(server) == "a"
        (folder / "package" / "__init__.py").write_text("VERSION = 'b'\n")
        assert server.said(STARTS)[1] == "package/__init__.py"
        server.said(SERVES, 2)
        assert version_at(server) == "b"


def test_a_change_of_the_configuration_counts_too(folder: Path) -> None:
    file = folder / "accord.toml"
    file.write_text('[one]\ntarget = "shop.py"\n')
    with reloading(folder, target="accord.toml") as server:
        file.write_text('[two]\ntarget = "shop.py"\n')
        server.said(SERVES, 2)
        with HttpPeer(server.port) as peer:
            assert peer.call("two_version") == "1"
        file.write_text("[two\n")
        server.said(WAITS)
        assert "accord.toml is not valid TOML" in server.stderr
        file.write_text('[three]\ntarget = "shop.py"\n')
        server.said(SERVES, 3)
        with HttpPeer(server.port) as peer:
            assert peer.call("three_version") == "1"


def test_a_change_while_the_server_starts_counts(folder: Path) -> None:
    slow = SERVER.replace("from accord", "import time\ntime.sleep(1)\nfrom accord", 1)
    with reloading(folder) as server:
        write(folder / "shop.py", "2", slow)
        server.said(STARTS)
        write(folder / "shop.py", "3")
        server.said(STARTS, 2)
        assert eventually(lambda: version_at(server) == "3")


def test_a_call_that_does_not_end_is_ended(folder: Path) -> None:
    endless = SERVER.replace("    return", "    import time\n    time.sleep(600)\n    return")
    write(folder / "shop.py", "1", endless)
    with reloading(folder) as server, HttpPeer(server.port) as peer:
        peer.send(peer.calling("version"))
        (worker,) = children(server.process.pid)
        write(folder / "shop.py", "2")
        server.said(SERVES, 2)
        assert version_at(server) == "2"
        assert eventually(lambda: is_gone(worker))


def test_a_worker_that_crashes_is_replaced(folder: Path) -> None:
    with reloading(folder) as server:
        (worker,) = children(server.process.pid)
        os.kill(worker, signal.SIGKILL)
        server.said(re.compile(r"was ended by SIGKILL; another one starts"))
        assert eventually(lambda: version_at(server) == "1")


def test_several_workers_start_again(folder: Path) -> None:
    with reloading(folder, "--workers", "2") as server:
        before = set(children(server.process.pid))
        write(folder / "shop.py", "2")
        server.said(SERVES, 2)
        after = set(children(server.process.pid))
        assert len(before) == len(after) == 2
        assert not before & after
        assert version_at(server) == "2"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left(folder: Path, number: signal.Signals) -> None:
    with reloading(folder) as server:
        (worker,) = children(server.process.pid)
        server.process.send_signal(number)
        server.wait()
        assert eventually(lambda: is_gone(worker))


def test_a_signal_ends_a_server_that_waits_for_a_change(folder: Path) -> None:
    with reloading(folder) as server:
        write(folder / "shop.py", "2", "1 / 0")
        server.said(WAITS)
        server.process.send_signal(signal.SIGTERM)
        assert server.wait() == 0


def test_what_cannot_be_watched_is_one_line(folder: Path) -> None:
    (folder / "shop.db").write_bytes(b"")
    http = ["--http", "127.0.0.1:0"]
    done = accord_each(
        {
            "stdio": ["serve", "shop.py", "--reload"],
            "database": ["serve", "shop.db", "--reload", *http],
            "sheets": ["serve", "sheets", "--reload", *http],
            "remote": ["serve", "https://example.com", "--reload", *http],
        },
        folder,
    )
    assert_one_line_of_misuse(done["stdio"], "--reload requires HTTP: add --http 127.0.0.1:8000")
    for name in ("database", "sheets", "remote"):
        assert_one_line_of_misuse(done[name], "--reload requires a target with source: a Python")


# The watcher


def test_only_sources_are_watched(tmp_path: Path) -> None:
    watched = ["a.py", "package/b.py", "deep/er/c.py"]
    others = [
        *(".git/x.py", "__pycache__/x.py", "node_modules/x.py", "venv/lib/x.py"),
        *("lib/site-packages/x.py", "notes.txt", ".hidden.py"),
    ]
    for name in (*watched, *others, "venv/pyvenv.cfg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    watcher = Watcher([tmp_path, tmp_path / "deep"])
    assert watcher.changes() == []
    for name in (*watched, *others):
        (tmp_path / name).write_text("22")
    assert watcher.changes() == [tmp_path / name for name in sorted(watched)]
    assert watcher.changes() == []


def test_new_gone_and_replaced_files_are_changes(tmp_path: Path) -> None:
    kept, file = tmp_path / "kept.py", tmp_path / "accord.toml"
    kept.write_text("1")
    watcher = Watcher([tmp_path], [file])
    (tmp_path / "new.py").write_text("1")
    assert watcher.changes() == [tmp_path / "new.py"]
    (tmp_path / "new.py").unlink()
    assert watcher.changes() == [tmp_path / "new.py"]
    file.write_text("")
    assert watcher.changes() == [file]
    before = kept.stat()
    (tmp_path / "other").write_text("2")
    os.utime(tmp_path / "other", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "other").replace(kept)
    assert watcher.changes() == [kept], "of the same time and size"


def test_a_folder_that_is_gone_or_loops_does_no_harm(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.py").write_text("1")
    (inner / "loop").symlink_to(tmp_path)
    (inner / "dangling.py").symlink_to(tmp_path / "nowhere")
    watcher = Watcher([inner])
    assert watcher.changes() == []
    (inner / "a.py").unlink()
    (inner / "loop").unlink()
    (inner / "dangling.py").unlink()
    inner.rmdir()
    assert watcher.changes() == [inner / "a.py"]


def test_too_many_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "_MAX_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.py").write_text("1")
    watcher = Watcher([tmp_path])
    assert not watcher.is_complete
    (tmp_path / "0.py").write_text("22")
    assert watcher.changes() == [tmp_path / "0.py"]


def test_the_folders_are_those_of_the_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for each in (here, there):
        each.mkdir()
    (here / "shop.py").write_text("")
    (there / "other.py").write_text("")
    (there / "accord.toml").write_text('[a]\ntarget = "other:server"\n[b]\ntarget = "x.db"\n')
    monkeypatch.chdir(here)

    def folders(*words: str) -> list[Path]:
        options = parser_of("serve").parse_args(list(words))
        return watcher_of(targets.expand(words), options).folders

    assert folders("shop:server") == [here]
    assert folders("shop.py") == [here]
    assert folders("a=../there/other.py:x", "shop.db") == [there]
    assert folders("django:gone.settings") == [here]
    assert folders(str(there / "accord.toml")) == [there]
    assert folders("json:server") == [Path(json.__file__).parent], "an installed one"
    with pytest.raises(ContractError, match="--reload requires a target with source"):
        folders("shop.db", "sheets", "reader")


def test_a_file_may_have_the_number_of_workers(folder: Path) -> None:
    (folder / "accord.toml").write_text(
        'http = "127.0.0.1:0"\nworkers = 2\ngrace = 0.5\n[x]\ntarget = "shop.py"\n'
    )
    command = [ACCORD, "serve", "accord.toml", "--no-page"]
    with HttpServer(command, cwd=folder, env=ENVIRONMENT) as server:
        assert len(children(server.process.pid)) == 2
        with HttpPeer(server.port) as peer:
            assert peer.call("x_version") == "1"
