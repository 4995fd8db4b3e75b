"""The wheel, as a user gets it: built, installed where nothing else is, and used once."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from http_peer import HttpServer
from stdio_peer import StdioPeer

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
CONSTRAINTS = str(ROOT / "constraints.txt")
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Return the output of a command; if it fails, raise with its errors."""
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist."""
    folder = tmp_path_factory.mktemp("source")
    run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "-d", folder, cwd=ROOT)
    (source,) = folder.iterdir()
    return source


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made of the sdist alone."""
    folder = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    (wheel,) = folder.iterdir()
    return wheel


def environment(folder: Path, wheel: str) -> Path:
    """The programs of an environment that has the wheel and what it asks for."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    programs = folder / "venv/bin"
    pip = [*PIP, "--python", str(programs / "python"), "install", "--no-compile"]
    run(*pip, "--constraint", CONSTRAINTS, wheel)
    return programs


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without extras, beside an example."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copy(ROOT / "examples/shop.py", folder)
    return environment(folder, str(wheel))


@pytest.fixture(scope="module")
def complete(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all extras, beside the demo."""
    folder = tmp_path_factory.mktemp("complete")
    shutil.copytree(ROOT / "examples/demo", folder / "demo")
    return environment(folder, f"{wheel}[all]")


def test_the_source_holds_what_the_wheel_is_made_of_and_no_more(source: Path) -> None:
    with tarfile.open(source) as archive:
        names = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    beside = {str(name) for name in names if name.parts[0] != "src"}
    assert beside == {".gitignore", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}


def test_it_holds_the_package_its_types_and_its_license(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    info = f"accord_mcp-{version('accord-mcp')}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"accord", info}
    assert {"accord/__init__.py", "accord/py.typed", f"{info}/licenses/LICENSE"} <= set(names)
    fonts = {name.rpartition("/LICENSE-")[2] for name in names if "/fonts/LICENSE-" in name}
    assert fonts == {"DejaVu.txt", "DroidSansFallback.txt", "Lato.txt"}
    for kind in (".py", ".json", ".pdf", ".toml", ".ttf", ".html", ".css", ".js", ".svg"):
        files = {path.relative_to(ROOT / "src").as_posix() for path in ROOT.glob(f"src/**/*{kind}")}
        assert {name for name in names if name.endswith(kind)} == files


def test_the_metadata_and_the_files_of_what_is_built_are_sound(source: Path, wheel: Path) -> None:
    for program in ("twine", "check-wheel-contents"):
        if not Path(sys.executable).with_name(program).exists():
            pytest.skip(f"{program} is not installed: make .venv/.check")
    bin = Path(sys.executable).parent
    run(bin / "twine", "check", "--strict", source, wheel)
    run(bin / "check-wheel-contents", wheel)


def test_it_brings_nothing_but_what_it_needs(installed: Path) -> None:
    listed = json.loads(run(*PIP, "--python", installed / "python", "list", "--format", "json"))
    names = {package["name"].replace("_", "-") for package in listed}
    assert names == {"accord-mcp", "apsw", "jsonschema-rs", "msgspec"}


def test_the_command_is_there_and_knows_its_version(installed: Path) -> None:
    told = run(installed / "accord", "--version").splitlines()
    assert told[:2] == [f"accord {version('accord-mcp')}", "extras: none"]
    assert set(told[2].removeprefix("not installed: ").split(", ")) >= {*EXTRAS}


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


def test_a_database_needs_no_extra(installed: Path) -> None:
    folder = installed.parents[1]
    made = run(installed / "accord", "call", "new.db", "list_tables", "--create", cwd=folder)
    assert made == "[]\n"


def test_a_reply_is_read_without_extras(installed: Path) -> None:
    (installed.parents[1] / "reply.json").write_text(
        '{"content": [{"type": "text", "text": "[1]"}]}'
    )
    said = run(installed / "accord", "read", "reply.json", "--table", cwd=installed.parents[1])
    assert said == "unknown: list, 1 item\n  1\n"


EXTRAS = {
    "http": ["serve", "shop:server", "--http", "127.0.0.1:0"],
    "connect": ["call", "http://127.0.0.1:9/mcp", "add"],
    "sql": ["tools", "postgresql://127.0.0.1/shop"],
    "redis": ["serve", "shop:server", "--store", "redis://127.0.0.1:9/0"],
    "sheets": ["tools", "sheets"],
    "django": ["tools", "django:shop.settings"],
    "arrow": ["read", "shop.py", "--to", "parquet"],
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_lacks_its_extra_says_so_in_one_line(installed: Path, wheel: Path, extra: str) -> None:
    command = [str(installed / "accord"), *EXTRAS[extra]]
    done = subprocess.run(
        command, cwd=installed.parents[1], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    python = installed / "python"
    wanted = f"accord-mcp[{extra}] @ {wheel.as_uri()}"
    assert f"the extra {extra} is required for " in done.stderr
    assert done.stderr.endswith(f" {python} install '{wanted}'\n")
    assert done.stderr.count("\n") == 1


def test_with_its_extras_the_demo_is_served_and_called(complete: Path) -> None:
    folder = complete.parents[1]
    command = [str(complete / "python"), "demo", "--port", "0", "--folder", "made"]
    with HttpServer(command, cwd=folder, env=ENVIRONMENT, timeout=20) as demo:
        words = ["call", demo.url, "run_query", '{"query": "SELECT count(*) AS n FROM products"}']
        assert json.loads(run(complete / "accord", *words, cwd=folder)) == [{"n": 48}]
        with urllib.request.urlopen(demo.url.removesuffix("mcp")) as page:
            assert page.status == 200
    rolled = run(
        complete / "accord",
        "call",
        "demo/tools.py",
        "roll_character",
        '{"name": "Mira"}',
        cwd=folder,
    )
    (folder / "mira.json").write_text(rolled)
    assert run(complete / "accord", "sheet", "mira.json", cwd=folder).startswith(
        "mira.pdf: 3 pages"
    )


def test_with_all_extras_nothing_is_missing(complete: Path) -> None:
    ours = ["accord.django", "accord.client", "accord.serve.http.listen", "accord.sources.sheets"]
    ours.append("accord.integrations.arrow")
    theirs = ["rest_framework", "psycopg", "prometheus_client", "opentelemetry.trace"]
    assert run(complete / "python", "-c", f"import {', '.join(ours + theirs)}") == ""
