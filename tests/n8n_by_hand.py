"""A real n8n imports the workflows in examples/, and runs the deterministic one.

n8n is gigabytes, so this is run by hand, with N8N for its program:
`N8N=node_modules/n8n/bin/n8n pytest tests/n8n_by_hand.py`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client.connections import ACCORD
from http_peer import HttpServer

N8N = os.environ["N8N"]

EXAMPLES = Path(__file__).parents[1] / "examples"
NODE = Path(sys.executable).with_name("node")
ENV = {
    "N8N_DIAGNOSTICS_ENABLED": "false",
    "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
    "N8N_TEMPLATES_ENABLED": "false",
    "N8N_ENFORCE_SETTINGS_FILE_PERMISSIONS": "false",
}


LUTE = {"id": 41, "name": "lute", "category": "music", "price": 35.0, "stock": 7}


class Workflows:
    """n8n in a folder of its own, beside the demo and a reader."""

    def __init__(self, folder: Path, demo: str, reader: str) -> None:
        self._folder, self._demo, self._reader = folder, demo, reader

    def import_(self, name: str, **changes: str) -> str:
        text = (EXAMPLES / f"n8n/{name}.json").read_text()
        text = text.replace("http://127.0.0.1:8000/mcp", self._demo)
        text = text.replace("http://127.0.0.1:8001/read", self._reader)
        for old, new in changes.items():
            assert f'\\"{old}\\"' in text
            text = text.replace(f'\\"{old}\\"', f'\\"{new}\\"')
        path = self._folder / f"{name}.json"
        path.write_text(text)
        return self._run("import:workflow", f"--input={path}")

    def execute(self, id: str) -> dict[str, Any]:
        """Return the output of each node, by its name."""
        said = self._run("execute", f"--id={id}", "--rawOutput")
        done, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
        runs = done["data"]["resultData"]["runData"]
        return {name: run[0]["data"]["main"] for name, run in runs.items()}

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [NODE, str(N8N), *words],
            env={**os.environ, **ENV, "N8N_USER_FOLDER": str(self._folder)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def n8n(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workflows]:
    http = ["--http", "127.0.0.1:0"]
    with (
        HttpServer([ACCORD, "serve", "demo/tools.py", *http], cwd=EXAMPLES) as demo,
        HttpServer([ACCORD, "serve", "reader", *http]) as reader,
    ):
        url = reader.url.removesuffix("/mcp") + "/read"
        yield Workflows(tmp_path_factory.mktemp("n8n"), demo.url, url)


@pytest.mark.parametrize("name", ["agent", "reader"])
def test_a_workflow_is_imported(n8n: Workflows, name: str) -> None:
    assert "Successfully imported 1 workflow" in n8n.import_(name)


@pytest.mark.parametrize(
    ("changes", "end", "data"),
    [
        ({}, "List", [LUTE]),
        ({"music": "cheese"}, "Error", None),
        ({"catalogue": "nothing"}, "Error", None),
    ],
    ids=["a list", "a failure", "an unknown tool"],
)
def test_the_deterministic_one_reads_what_a_tool_said(
    n8n: Workflows, changes: dict[str, str], end: str, data: Any
) -> None:
    n8n.import_("reader", **changes)
    given = n8n.execute("accordReader0001")
    response = given[end][0][0]["json"]["response"]
    assert (response.get("data") or [None])[0] == (data or [None])[0]
