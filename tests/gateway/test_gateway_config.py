"""`mcp.json`: what a file means, and errors that name its line (behaviour 25)."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from accord.errors import ContractError
from accord.gateway.config import config_schema, read_config

pytestmark = pytest.mark.requirement("gateway.25.config")
ENVIRONMENT = {"TOKEN": "s3cret", "HOME": "/home/ada"}


def read(folder: Path, content: Any) -> Any:
    file = folder / "mcp.json"
    text = content if isinstance(content, str) else json.dumps(content, indent=2)
    file.write_text(text)
    return read_config(file, ENVIRONMENT)


def servers(**entries: Any) -> dict[str, Any]:
    return {"mcpServers": entries}


def test_commands_and_urls_are_read_in_order(tmp_path: Path) -> None:
    fs, web = read(
        tmp_path,
        servers(
            fs={"command": "npx", "args": ["-y", "${HOME}/x"], "env": {"A": "1"}, "cwd": "data"},
            off={"command": "x", "disabled": True},
            web={
                "type": "http",
                "url": "https://example.com/mcp",
                "headers": {"Authorization": "Bearer ${TOKEN}"},
                "only": ["get_*"],
                "prefix": "w.",
                "replies": "as-is",
                "timeout": 5,
            },
        ),
    )
    assert (fs.name, fs.command, fs.env) == ("fs", ["npx", "-y", "/home/ada/x"], {"A": "1"})
    assert fs.cwd == str(tmp_path / "data")
    assert (web.url, web.headers) == (
        "https://example.com/mcp",
        {"Authorization": "Bearer s3cret"},
    )
    assert (web.only, web.prefix, web.replies, web.timeout) == (["get_*"], "w.", "as-is", 5)


def test_a_variable_may_have_a_default(tmp_path: Path) -> None:
    (one,) = read(tmp_path, servers(one={"command": "${SHELL_OF_MINE:-sh}"}))
    assert one.command == ["sh"]


BROKEN = """{
  "mcpServers": {
    "fs": {
      "command": "npx",
      %s
    }
  }
}"""


@pytest.mark.parametrize(
    ("member", "fault"),
    [
        ('"args": "-y"', "mcp.json:5: fs.args must be an array of strings"),
        ('"args": [1]', "mcp.json:5: fs.args must be an array of strings"),
        ('"env": {"A": 1}', "mcp.json:5: fs.env must be an object of strings"),
        ('"env": {"A": "${NOPE}"}', "mcp.json:5: fs.env.A names ${NOPE}, which is not set"),
        ('"args": ["-y",\n "${NOPE}"]', "mcp.json:6: fs.args.1 names ${NOPE}, which is not set"),
        ('"timeout": 0', "mcp.json:5: fs.timeout must be a number of seconds"),
        ('"timeout": true', "mcp.json:5: fs.timeout must be a number of seconds"),
        ('"lifetime": 0', "mcp.json:5: fs.lifetime must be a number of seconds"),
        ('"replies": "raw"', "mcp.json:5: fs.replies must be one of as-is, repaired, normalised"),
        ('"only": "get_*"', "mcp.json:5: fs.only must be an array of patterns"),
        ('"disabled": "no"', "mcp.json:5: fs.disabled must be true or false"),
        ('"headers": {}', "mcp.json:5: fs.headers is not for a command"),
        ('"url": "https://x.y"', "mcp.json:3: fs must have a command or a url, not both"),
        ('"arg": []', "mcp.json:5: fs.arg is not known; did you mean args?"),
        ('"auth": {}', "mcp.json:5: fs.auth is not for a command"),
        ('"forward": ["Cookie"]', "mcp.json:5: fs.forward must be an array of headers that may be"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, member: str, fault: str) -> None:
    with pytest.raises(ContractError) as error:
        read(tmp_path, BROKEN % member)
    assert str(error.value).startswith(f"{tmp_path}/{fault}")


REMOTE = """{
  "mcpServers": {
    "web": {
      "url": "https://example.com/mcp",
      %s
    }
  }
}"""


@pytest.mark.parametrize(
    ("member", "fault"),
    [
        ('"auth": "x"', "web.auth must be an object with a client_id"),
        ('"auth": {}', "web.auth must have client_id and client_secret"),
        ('"auth": {"client_id": 1}', "web.auth.client_id must be a string"),
        ('"auth": {"client": "x"}', "web.auth.client is not known"),
        (
            '"auth": {"client_id": "a", "client_secret": "b", "exchange": true}',
            "web.auth must have issuer",
        ),
        (
            '"auth": {"client_id": "a", "client_secret": "b"}, "headers": {"authorization": "c"}',
            "web.auth must not be given beside headers.Authorization",
        ),
        ('"forward": ["X-A"], "headers": {"x-a": "1"}', "web.forward.0 has a value in headers"),
        ('"lifetime": 60', "web.lifetime is not for a url"),
        ('"forward": ["Mcp-Session-Id"]', "web.forward must be an array of headers that may be"),
    ],
)
def test_a_mistake_in_credentials_is_named_with_its_line(
    tmp_path: Path, member: str, fault: str
) -> None:
    with pytest.raises(ContractError) as error:
        read(tmp_path, REMOTE % member)
    assert str(error.value).startswith(f"{tmp_path}/mcp.json:5: {fault}")


def test_credentials_are_read_and_equal_when_read_again(tmp_path: Path) -> None:
    """A server whose entry has not changed keeps its connections."""
    entry = {
        "url": "https://example.com/mcp",
        "auth": {
            "client_id": "gateway",
            "client_secret": "${TOKEN}",
            "issuer": "https://issuer.example.com",
            "exchange": True,
        },
        "forward": ["X-Tenant"],
    }
    assert jsonschema_rs.is_valid(config_schema(), servers(web=entry))
    (web,), (again,) = (read(tmp_path, servers(web=entry)) for _ in range(2))
    assert web == again
    assert (web.auth.client_secret, web.auth.exchange, web.forward) == (
        "s3cret",
        True,
        ["X-Tenant"],
    )
    assert "s3cret" not in repr(web)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("[]", 'mcp.json:1: it must be {"mcpServers"'),
        ('{"servers": {}}', 'mcp.json:1: it must be {"mcpServers"'),
        ('{"mcpServers": {}}', "mcp.json:1: mcpServers has no server that is enabled"),
        ('{"mcpServers": {"a b": {}}}', "mcp.json:1: a b must be a name of"),
        ('{"mcpServers": {\n"a": 1}}', "mcp.json:2: a must be an object"),
        ('{"mcpServers": {"a": {}}}', "a must have a command or a url, and has neither"),
        ("{", "mcp.json is not valid JSON"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, content: str, fault: str) -> None:
    with pytest.raises(ContractError) as error:
        read(tmp_path, content)
    assert fault in str(error.value)


@pytest.mark.parametrize(
    ("entry", "is_valid"),
    [
        ({"command": "npx", "args": ["-y"]}, True),
        ({"command": "npx", "lifetime": 3600}, True),
        ({"command": "npx", "lifetime": 0}, False),
        ({"url": "https://example.com/mcp", "replies": "normalised"}, True),
        ({"command": "npx", "timeout": 0}, False),
        ({"command": "npx", "replies": "raw"}, False),
        ({"command": "npx", "args": "-y"}, False),
        ({}, False),
        ({"command": "npx", "url": "https://x.y"}, False),
    ],
)
def test_the_published_schema_agrees(tmp_path: Path, entry: Any, is_valid: bool) -> None:
    content = servers(one=entry)
    schema = jsonschema_rs.Draft202012Validator(config_schema())
    assert schema.is_valid(content) is is_valid
    if is_valid:
        assert read(tmp_path, content)
    else:
        with pytest.raises(ContractError):
            read(tmp_path, content)
