"""The servers of the guides, inside a FastAPI and a Starlette application."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from accord import Server, read
from doc_pages import FILE, ROOT, blocks

App = Callable[..., Any]
Calls = list[tuple[str, dict[str, Any], object]]
GUIDES: dict[tuple[str, str], Calls] = {
    ("dependencies", "shop"): [
        ("restock", {"item": "tea", "amount": 5}, 5),
        ("restock", {"item": "tea", "amount": -9}, "There are fewer than 9 of tea"),
        ("restock", {"item": "tea", "amount": -2}, 3),
    ],
    ("middleware", "shop"): [
        ("order", {"item": "coffee"}, "one coffee"),
        ("order", {"item": "tea"}, "There is no tea today"),
    ],
    ("lifespan", "shop"): [("stock", {"item": "rope"}, 3), ("stock", {"item": "hat"}, 0)],
    ("middleware", "busy"): [("rate", {"currency": "usd"}, 1.08)],
}


def in_fastapi(server: Server) -> App:
    mcp = server.asgi()
    app = FastAPI(lifespan=mcp.lifespan)
    app.mount("/shop", mcp)
    return app


def in_starlette(server: Server) -> App:
    mcp = server.asgi()
    return Starlette(lifespan=mcp.lifespan, routes=[Mount("/shop", mcp)])


def in_starlette_alone(server: Server) -> App:
    """Leaves out the lifespan: the first call starts it."""
    return Starlette(routes=[Mount("/shop", server.asgi())])


def module(page: str, name: str, folder: Path) -> ModuleType:
    """Import a file of a guide."""
    for block in blocks((ROOT / f"docs/{page}.md").read_text()):
        named = FILE.match(block.text)
        if named and named["name"] == f"{name}.py":
            (folder / named["name"]).write_text(block.text)
    spec = importlib.util.spec_from_file_location(f"{page}_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("mount", [in_fastapi, in_starlette, in_starlette_alone])
@pytest.mark.parametrize(("guide", "calls"), GUIDES.items(), ids=map("-".join, GUIDES))
def test_the_server_of_a_guide_answers_inside_an_application(
    guide: tuple[str, str],
    calls: Calls,
    mount: Callable[[Server], App],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    app = mount(module(*guide, tmp_path).server)
    with TestClient(app, base_url="http://localhost") as client:
        for name, arguments, expected in calls:
            params = {"name": name, "arguments": arguments}
            request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            reading = read(client.post("/shop/mcp", json=request).json(), name)
            error = reading.response.error
            assert (reading.value if error is None else error.message) == expected
