"""An error that names an extra prints the command that installs it here."""

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from accord.extras import extras, install_command, missing, version_text

ROOT = Path(__file__).parents[1]
INDEX: dict[str, Any] = {}
CLONE = {"url": "file:///home/ada/my%20accord", "dir_info": {"editable": True}}
FOLDER = {"url": "file:///home/ada/accord", "dir_info": {}}
WHEEL = {"url": "file:///tmp/accord_mcp-1-py3-none-any.whl", "archive_info": {}}


class Installed:
    """A distribution that was installed from a place."""

    def __init__(self, place: dict[str, Any]) -> None:
        self._place = place

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return json.dumps(self._place) if self._place else None


COMMANDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "an index": (INDEX, "", "PIP 'accord-mcp[http]'"),
    "a clone": (CLONE, "", "PIP --editable '/home/ada/my accord[http]'"),
    "a folder": (FOLDER, "", "PIP '/home/ada/accord[http]'"),
    "a wheel": (WHEEL, "", f"PIP 'accord-mcp[http] @ {WHEEL['url']}'"),
    "uv tool": (INDEX, "uv-receipt.toml", "uv tool install --force 'accord-mcp[sql,http]'"),
    "uv tool of a clone": (
        CLONE,
        "uv-receipt.toml",
        "uv tool install --force --editable '/home/ada/my accord[sql,http]'",
    ),
    "pipx": (INDEX, "pipx_metadata.json", "pipx install --force 'accord-mcp[sql,http]'"),
    "uvx": (INDEX, "archive-v0/x", "uvx --from 'accord-mcp[sql,http]' accord"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_is_that_of_the_program_that_installed_accord(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, mark, command = COMMANDS[name]
    prefix = tmp_path
    if mark.endswith((".toml", ".json")):
        (prefix / mark).touch()
    elif mark:
        prefix = tmp_path / mark
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(place))
    monkeypatch.setattr("accord.extras.extras", lambda: {"http": ("uvicorn",), "sql": ()})
    pip = f"{sys.executable} -m pip install"
    assert install_command("http") == command.replace("PIP", pip)


def test_the_pip_of_this_environment_is_called_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(INDEX))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert missing("HTTP", "http") == (
        "the extra http is required for HTTP: pip install 'accord-mcp[http]'"
    )


def test_a_clone_that_is_the_current_folder_is_a_dot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(place))
    monkeypatch.chdir(tmp_path)
    assert install_command("http").endswith("install --editable '.[http]'")


def test_source_that_is_not_installed_names_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", raising)
    monkeypatch.chdir("/")
    assert install_command("http").endswith(f"--editable '{ROOT}[http]'")


@pytest.mark.parametrize("tool", ["uv", "pip", None])
def test_an_environment_without_pip_has_another_installer(
    tool: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(INDEX))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda name: name if name == tool else None)
    python = sys.executable
    assert install_command("http").removesuffix(" 'accord-mcp[http]'") == {
        "uv": f"uv pip install --python {python}",
        "pip": f"pip --python {python} install",
        None: f"{python} -m pip install",
    }[tool]  # fmt: skip


def test_the_extras_are_those_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras()) == set(project["optional-dependencies"]) - {"all"}


def test_the_version_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.extras.extras", lambda: {"http": (), "sql": ("psycopg",)})
    assert version_text().splitlines()[1:] == ["extras: http", "not installed: sql"]


def test_no_other_text_names_a_command_that_installs_an_extra() -> None:
    found = [
        str(path)
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"pip install .*accord", path.read_text()) and path.name != "extras.py"
    ]
    assert found == []
