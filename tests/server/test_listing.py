"""Resources of a template that are found when a client lists them, and names that are completed."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

import wire
from accord import Server
from accord.model.completion import Completer
from accord.model.resource import Listed, Resource
from accord.model.tool import Bound
from peer import Peer


class Shelf:
    """Books whose names change while they are served."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    async def listing(self) -> Sequence[Listed]:
        return [Listed(f"book://{name}", name, f"The book {name}") for name in self.names]

    async def complete(self, typed: str, others: dict[str, str]) -> list[str]:
        return [name for name in self.names if name.startswith(typed)]

    async def read(self, variables: dict[str, str], _: object) -> str:
        return f"text of {variables['name']}"

    def server(self, **options: Any) -> Server:
        server = Server("shelf", version="1.0", **options)
        server.add(
            Resource(
                uri="book://{name}",
                name="book",
                bind=lambda variables: Bound(msgspec.json.decode(variables)),
                invoke=self.read,
                is_async=True,
                mime_type="text/plain",
                listing=self.listing,
                completers={"name": Completer(self.complete, is_async=True)},
            )
        )

        @server.resource("shelf://all")
        def everything() -> str:
            return "all"

        return server


def uris(peer: Peer, cursor: str | None = None) -> tuple[list[str], str | None]:
    params = {} if cursor is None else {"cursor": cursor}
    result = peer.ask("resources/list", params)["result"]
    return [each["uri"] for each in result["resources"]], result.get("nextCursor")


@pytest.mark.parametrize("revision", wire.REVISIONS)
def test_what_there_is_now_is_listed_after_what_is_always_there(revision: str) -> None:
    shelf = Shelf("emma", "dune")
    peer = Peer(shelf.server(), revision)
    assert uris(peer) == (["shelf://all", "book://emma", "book://dune"], None)
    shelf.names = ["ulysses"]
    assert uris(peer) == (["shelf://all", "book://ulysses"], None)
    (entry,) = peer.ask("resources/list")["result"]["resources"][1:]
    assert entry["description"] == "The book ulysses"
    assert entry["mimeType"] == "text/plain"
    (content,) = peer.ask("resources/read", {"uri": entry["uri"]})["result"]["contents"]
    assert content["text"] == "text of ulysses"


def test_pages_have_each_of_them_once() -> None:
    shelf = Shelf(*"abcd")
    peer = Peer(shelf.server(page_size=2), "2025-11-25")
    first, cursor = uris(peer)
    second, cursor = uris(peer, cursor)
    third, end = uris(peer, cursor)
    assert [first, second, third, end] == [
        ["shelf://all", "book://a"], ["book://b", "book://c"], ["book://d"], None
    ]  # fmt: skip
    assert peer.ask("resources/list", {"cursor": "x"})["error"]["code"] == -32602


def test_a_server_that_includes_it_lists_them_with_its_prefix() -> None:
    whole = Server("whole")
    whole.include(Shelf("emma").server(), "a_")
    whole.include(Shelf("dune").server(), "b_")
    peer = Peer(whole, "2025-11-25")
    found, _ = uris(peer)
    assert found == ["shelf://a_all", "shelf://b_all", "book://a_emma", "book://b_dune"]
    (content,) = peer.ask("resources/read", {"uri": "book://b_dune"})["result"]["contents"]
    assert content["text"] == "text of dune"


def test_the_completer_of_a_resource_completes_its_variable() -> None:
    peer = Peer(Shelf("emma", "dune").server(), "2025-11-25")
    params = {
        "ref": {"type": "ref/resource", "uri": "book://{name}"},
        "argument": {"name": "name", "value": "d"},
    }
    assert peer.ask("completion/complete", params)["result"]["completion"]["values"] == ["dune"]
