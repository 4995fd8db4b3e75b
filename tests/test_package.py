"""The wheel, as a user gets it: built, installed where nothing else is, and used once."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from stdio_peer import StdioPeer

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
CONSTRAINTS = str(ROOT / "constraints.txt")
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

pytestmark = pytest.mark.timeout(40)


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What a command prints; if it fails, what it says is the failure."""
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--build-constraint", CONSTRAINTS, "--wheel-dir", str(folder)]
    run(*PIP, "wheel", *options, str(ROOT))
    (wheel,) = folder.iterdir()
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and what it asks for, and the example."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    programs = folder / "venv/bin"
    run(*PIP, "--python", programs / "python", "install", "--constraint", CONSTRAINTS, wheel)
    shutil.copy(ROOT / "examples/shop.py", folder)
    return programs


def test_it_holds_the_package_its_types_and_its_license(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    info = f"accord_mcp-{version('accord-mcp')}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"accord", info}
    assert {"accord/__init__.py", "accord/py.typed", f"{info}/licenses/LICENSE"} <= set(names)
    fonts = {name.rpartition("/LICENSE-")[2] for name in names if "/fonts/LICENSE-" in name}
    assert fonts == {"DejaVu.txt", "DroidSansFallback.txt"}
    for kind in (".py", ".json", ".pdf", ".toml", ".ttf", ".html", ".css", ".js", ".svg"):
        files = {path.relative_to(ROOT / "src").as_posix() for path in ROOT.glob(f"src/**/*{kind}")}
        assert {name for name in names if name.endswith(kind)} == files


def test_it_brings_nothing_but_what_it_needs(installed: Path) -> None:
    listed = json.loads(run(*PIP, "--python", installed / "python", "list", "--format", "json"))
    names = {package["name"].replace("_", "-") for package in listed}
    assert names == {"accord-mcp", "apsw", "jsonschema-rs", "msgspec"}


def test_the_command_is_there_and_knows_its_version(installed: Path) -> None:
    assert run(installed / "accord", "--version") == f"accord {version('accord-mcp')}\n"


def test_a_tool_can_be_called(installed: Path) -> None:
    folder = installed.parents[1]
    words = ["call", "shop:server", "add", '{"a": 2, "b": 3}']
    assert run(installed / "accord", *words, cwd=folder) == "5\n"


def test_a_server_answers(installed: Path) -> None:
    command = [str(installed / "accord"), "serve", "shop:server"]
    with StdioPeer(command, cwd=installed.parents[1], env=ENVIRONMENT) as peer:
        reply = peer.modern("tools/call", {"name": "orders", "arguments": {"customer": "zoe"}})
        assert reply["result"]["isError"] is True
        peer.close_input()
        assert peer.wait() == 0
    assert peer.stderr == ""


def test_a_database_needs_no_extra_and_postgresql_says_which(installed: Path) -> None:
    folder = installed.parents[1]
    made = run(installed / "accord", "call", "new.db", "list_tables", "--create", cwd=folder)
    assert made == "[]\n"
    command = [str(installed / "accord"), "tools", "postgresql://127.0.0.1/shop"]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2
    sentence = "PostgreSQL needs an extra: pip install 'accord-mcp[sql]'"
    assert done.stderr == f"accord tools: {sentence}\n"
