"""Without the extra: a command line works, and a URL says how to get it."""

import os
import subprocess
import sys

import pytest

from accord.connect import Peer, connect
from accord.errors import ContractError
from connect.client import run, text, with_misbehaving

SLOW_OR_OPTIONAL = ["httpx2", "httpcore2", "anyio", "h11", "httpx", "mcp", "pydantic"]


@pytest.fixture
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("httpx2", "httpcore2"):
        loaded = [name for name in sys.modules if name.startswith(f"{package}.")]
        for name in (package, *loaded):
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "accord.connect.http", raising=False)


@pytest.mark.usefixtures("_bare")
def test_a_url_names_the_command_that_installs_what_it_needs() -> None:
    async def main() -> None:
        async with connect("http://127.0.0.1:1/mcp"):
            pass

    sentence = r"^A URL needs an extra: pip install 'accord-mcp\[connect\]'$"
    with pytest.raises(ContractError, match=sentence):
        run(main())


@pytest.mark.usefixtures("_bare")
def test_a_command_line_needs_no_extra() -> None:
    async def say(peer: Peer) -> str:
        return text(await peer.call("hello"))

    assert with_misbehaving("decent", say) == "hello"


def test_importing_it_pulls_in_no_http_client() -> None:
    code = f"import accord.connect, sys; print(*sorted(sys.modules.keys() & {SLOW_OR_OPTIONAL!r}))"
    unwatched = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=unwatched
    )
    assert (child.stdout.strip(), child.stderr) == ("", "")


def test_all_is_sorted_and_exactly_what_is_exported() -> None:
    import accord.connect

    assert accord.connect.__all__ == sorted(accord.connect.__all__)
    assert all(hasattr(accord.connect, name) for name in accord.connect.__all__)
