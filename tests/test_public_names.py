"""What `import accord` gives, and what it does not drag in."""

import os
import subprocess
import sys
from types import ModuleType

import pytest

import accord

SLOW_OR_OPTIONAL = [
    *("asyncio", "anyio", "socket", "ssl", "jsonschema_rs", "argparse", "concurrent"),
    *("django", "starlette", "uvicorn", "httpx", "pydantic", "mcp"),
    *("opentelemetry", "prometheus_client", "hashlib", "importlib.resources"),
]
CLIENT = {"Client", "ClientCredentials", "ElicitRequest", "SampleRequest", "SignIn"}
OTHERS = sorted(set(accord.__all__) - CLIENT - {"TokenVerifier", "upstream"})
HTTP_CLIENT = [
    "accord.http1",
    "httptools",
    "httpx2",
    "httpcore2",
    "anyio",
    "h11",
    "httpx",
    "mcp",
    "pydantic",
]


def test_all_is_sorted() -> None:
    assert accord.__all__ == sorted(accord.__all__)


def test_all_is_exactly_what_is_exported() -> None:
    exported = {
        name
        for name in dir(accord)
        if not name.startswith("_") and not isinstance(getattr(accord, name), ModuleType)
    }
    assert exported == set(accord.__all__)


def test_the_reader_is_loaded_when_it_is_asked_for() -> None:
    code = "import accord, sys; print('accord.reader' in sys.modules); accord.read('5'); print('accord.reader' in sys.modules)"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (child.stdout, child.stderr) == ("False\nTrue\n", "")


@pytest.mark.parametrize(
    ("statement", "modules"),
    [
        ("import accord", SLOW_OR_OPTIONAL),
        (f"from accord import {', '.join(OTHERS)}", SLOW_OR_OPTIONAL),
        ("from accord import Client", HTTP_CLIENT),
    ],
    ids=["accord", "all names but the client's", "client"],
)
def test_an_import_pulls_in_nothing_slow(statement: str, modules: list[str]) -> None:
    code = f"{statement}; import sys; print(*sorted(sys.modules.keys() & {modules!r}))"
    unwatched = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=unwatched
    )
    assert (child.stdout.strip(), child.stderr) == ("", "")
