"""A command that a new Python runs ends as one that the warm process forks, which the others use."""

import subprocess

import pytest

from cli.command import ACCORD, ENVIRONMENT, EXAMPLES, Done, accord

REPLY = b'{"content": [{"type": "text", "text": "[1, 2]"}]}'
COMMANDS: dict[str, tuple[int, list[str], bytes]] = {
    "version": (0, ["--version"], b""),
    "help": (0, ["serve", "--help"], b""),
    "misuse": (2, ["call"], b""),
    "tools": (0, ["tools", "shop"], b""),
    "call": (0, ["call", "shop", "add", "-"], b'{"a": 2, "b": 3}'),
    "a failure": (1, ["call", "shop", "orders", '{"customer": "zoe"}'], b""),
    "read": (0, ["read", "-"], REPLY),
    "sheet": (1, ["sheet", "nowhere.json"], b""),
    "schema": (0, ["schema", "generic"], b""),
    "install": (0, ["install", "cursor", "shop.py", "--print"], b""),
    "completion": (0, ["completion", "bash"], b""),
    "inspect": (2, ["inspect", "nowhere.py"], b""),
}


def in_a_new_python(words: list[str], stdin: bytes) -> Done:
    done = subprocess.run(
        [ACCORD, *words], cwd=EXAMPLES, env=ENVIRONMENT, input=stdin, capture_output=True
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_ends_in_the_same_way_in_a_new_python(name: str) -> None:
    code, words, stdin = COMMANDS[name]
    done = in_a_new_python(words, stdin)
    assert done == accord(*words, stdin=stdin)
    assert done.code == code, done
