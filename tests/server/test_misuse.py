"""What is easily written by mistake, and what is said of it."""

import re
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest

from accord import ContractError, Server
from accord.serve.http import Settings, SettingsDict


def hello() -> str:
    """Say hello."""
    return "hello"


MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an option of a tool": (
        lambda server: server.tool(readonly=True)(hello),
        "tool 'hello' has no option 'readonly'; did you mean 'read_only'? options: after, audie",
    ),
    "an option of a prompt": (
        lambda server: server.prompt(titel="Hello")(hello),
        "prompt 'hello' has no option 'titel'; did you mean 'title'?",
    ),
    "an option of a resource": (
        lambda server: server.resource("a://b", nonsense=3)(hello),
        "resource 'hello' has no option 'nonsense'; options: annotations, description, enabled",
    ),
    "an audience": (
        lambda server: server.tool(audiense=lambda sender: False)(hello),
        "did you mean 'audience'?",
    ),
    "a tool's name without its word": (
        lambda server: server.tool("greet")(hello),
        "'greet' is not a function; to name a tool use name='greet'",
    ),
    "a resource without a URI": (
        lambda server: server.resource(hello),
        "a resource has a URI: @server.resource('shop://orders/{id}')",
    ),
    "a function that is added": (
        lambda server: server.add(hello),
        "is not a Tool, Prompt or Resource; add a function with server.tool",
    ),
    "a setting of an app": (
        lambda server: server.asgi(allow_host=["a"]),
        "asgi() has no option 'allow_host'; did you mean 'allow_hosts'?",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_and_nothing_comes_of_it(name: str) -> None:
    make, said = MISTAKES[name]
    server = Server("s")
    with pytest.raises(ContractError, match=re.escape(said)):
        make(server)
    assert [*server.tools, *server.prompts, *server.resources] == []


def test_what_an_app_can_be_told_is_what_settings_there_are() -> None:
    # The ASGI server has the socket, and so its certificate.
    assert {**SettingsDict.__annotations__, "tls": ANY} == Settings.__annotations__
