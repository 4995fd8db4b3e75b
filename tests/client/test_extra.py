"""Without the extra: a command line works, and a URL says how to get it."""

import sys

import pytest

from accord.client.peer import Peer, connect
from accord.errors import ContractError
from client.connections import run, text, with_misbehaving


@pytest.fixture
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "httptools"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "httptools", None)
    for name in [name for name in sys.modules if name.startswith("accord.http1")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "accord.client.http", raising=False)


@pytest.mark.usefixtures("_bare")
def test_a_url_names_the_command_that_installs_what_it_needs() -> None:
    async def main() -> None:
        async with connect("http://127.0.0.1:1/mcp"):
            pass

    sentence = "^the extra connect is required for a URL: "
    with pytest.raises(ContractError, match=sentence):
        run(main())


@pytest.mark.usefixtures("_bare")
def test_a_command_line_needs_no_extra() -> None:
    async def say(peer: Peer) -> str:
        return text(await peer.call("hello"))

    assert with_misbehaving("decent", say) == "hello"


def test_all_is_sorted_and_exactly_what_is_exported() -> None:
    import accord.client

    assert accord.client.__all__ == sorted(accord.client.__all__)
    assert all(hasattr(accord.client, name) for name in accord.client.__all__)
