"""`accord call` asks the server's questions at the terminal, and declines them elsewhere."""

import os
import pty
import select
import signal
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commands
from accord import Elicited, ElicitRequest
from accord.cli.elicitation import dialogue
from cli.command import ACCORD, ENVIRONMENT, accord, write

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "mail": {"type": "string", "format": "email", "description": "For the receipt"},
        "cups": {"type": "integer", "default": 1, "maximum": 9},
        "price": {"type": "number"},
        "hot": {"type": "boolean", "default": True},
        "drink": {"type": "string", "enum": ["coffee", "tea"]},
        "size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["milk", "sugar"]}},
    },
    "required": ["name", "drink", "size"],
}
PROMPTS = [
    "What would you like?\nAn empty line takes the default; :d declines, :c cancels.\nYour name: ",
    "For the receipt\nmail (email, optional): ",
    "cups (integer) [1]: ",
    "price (number, optional): ",
    "hot (yes or no) [yes]: ",
    "drink (coffee, tea): ",
    "size (s: Small, l: Large): ",
    "extras (any of milk, sugar; separated by commas; optional): ",
]


def talk(request: ElicitRequest, *lines: str | None) -> tuple[list[str], Elicited[Any] | None]:
    """Return what a dialogue shows, and its result if the lines lead to one."""
    asking = dialogue(request)
    shown = [next(asking)]
    for line in lines:
        try:
            shown.append(asking.send(line))
        except StopIteration as stop:
            return shown, stop.value
    return shown, None


def form(**members: Any) -> ElicitRequest:
    return ElicitRequest("What would you like?", {**FORM, **members})


def test_a_form_is_asked_field_by_field() -> None:
    lines = ["Ada", "ada@example.org", "2", "1.5", "no", "tea", "s", "milk, sugar"]
    shown, result = talk(form(), *lines)
    assert shown == PROMPTS
    assert result == Elicited(
        "accept",
        {
            "name": "Ada",
            "mail": "ada@example.org",
            "cups": 2,
            "price": 1.5,
            "hot": False,
            "drink": "tea",
            "size": "s",
            "extras": ["milk", "sugar"],
        },
    )


def test_empty_lines_take_defaults_and_leave_out_optional_fields() -> None:
    shown, result = talk(form(), "Ada", "", "", "", "", "coffee", "Large", "")
    assert shown == PROMPTS
    content = {"name": "Ada", "cups": 1, "hot": True, "drink": "coffee", "size": "l"}
    assert result == Elicited("accept", content)


WRONG = {
    "too short": ({"name": FORM["properties"]["name"]}, "A", "Your name "),
    "missing": ({"name": {"type": "string"}}, "", "name is required\n"),
    "no integer": ({"name": {"type": "integer"}}, "x", "name must be an integer\n"),
    "a fraction": ({"name": {"type": "integer"}}, "1.5", "name must be an integer\n"),
    "not finite": ({"name": {"type": "number"}}, "nan", "name must be a number\n"),
    "no boolean": ({"name": {"type": "boolean"}}, "2", "name must be yes or no\n"),
    "no choice": ({"name": {"enum": ["a", "b"]}}, "c", "name must be one of a, b\n"),
    "too large": ({"name": {"type": "integer", "maximum": 9}}, "10", "name "),
    "one unknown": (
        {"name": {"type": "array", "items": {"enum": ["a", "b"]}}},
        "a, c",
        "name must be of a, b\n",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_asked_again(name: str) -> None:
    properties, line, error = WRONG[name]
    shown, result = talk(form(properties=properties, required=["name"]), line)
    assert result is None
    assert shown[1].startswith(error)
    assert shown[1].endswith(shown[0].splitlines()[-1])


@pytest.mark.parametrize(
    ("line", "action"), [(":d", "decline"), (":c", "cancel"), (None, "cancel"), (" :D ", "decline")]
)
def test_a_question_can_be_declined_and_cancelled(line: str | None, action: Any) -> None:
    assert talk(form(), "Ada", line)[1] == Elicited(action)
    page = ElicitRequest("Please pay", url="https://example.org/pay")
    assert talk(page, line)[1] == Elicited(action)


def test_a_page_is_shown_and_waited_for() -> None:
    page = ElicitRequest("Please \x1b[31mpay", url="https://example.org/\u202epay")
    shown, result = talk(page, "")
    assert shown == [
        "Please \\u001b[31mpay\nOpen https://example.org/\\u202epay, then press Enter; "
        ":d declines, :c cancels: "
    ]
    assert result == Elicited("accept")


def test_a_form_without_fields_asks_for_consent() -> None:
    shown, result = talk(form(properties={}), "")
    assert shown == ["What would you like?\nPress Enter to accept; :d declines, :c cancels: "]
    assert result == Elicited("accept", {})


def test_a_colon_can_be_typed() -> None:
    assert talk(form(properties={"a": {"type": "string"}}), "::d")[1] == Elicited(
        "accept", {"a": ":d"}
    )


# The command

ASKING = """
from dataclasses import dataclass
from typing import Literal

from accord import Context, Elicit, Server

server = Server("asking", version="1.0")

@dataclass
class Wish:
    drink: Literal["coffee", "tea"]
    cups: int = 1

@server.tool
async def order(context: Context) -> str:
    wish = await context.elicit("What would you like?", Wish)
    return str(wish.data and f"{wish.data.cups} {wish.data.drink}") if wish.accepted else wish.action

@server.tool
async def both(context: Context) -> str:
    said = await context.ask(a=Elicit("First?", str), b=Elicit("Second?", str))
    return f"{said['a'].data} {said['b'].data}"

@server.tool
async def pay(context: Context) -> str:
    return (await context.elicit_url("Please pay", "https://example.org/pay")).action
"""
TARGETS = {"ours": "asking", "theirs": f"{quote(ACCORD)} serve asking"}
REVISIONS = ["2025-11-25", "2026-07-28"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("asking"), asking=ASKING)


def at_terminal(folder: Path, steps: list[tuple[str, bytes | None]], *words: str) -> str:
    """Run a command at a terminal; type each text after its prompt, or interrupt it if None.

    Return what is shown.
    """
    master, slave = pty.openpty()
    child = commands.start(
        [ACCORD, *words], cwd=folder, env=ENVIRONMENT, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown, seen, until = b"", 0, monotonic() + 30
    while monotonic() < until:
        if steps and steps[0][0].encode() in shown[seen:]:
            prompt, typed = steps.pop(0)
            seen = shown.index(prompt.encode(), seen) + len(prompt)
            if typed is None:
                child.send_signal(signal.SIGINT)
            else:
                os.write(master, typed)
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(master, 65_536)
        except OSError:
            break
        if not data:
            break
        shown += data
    child.wait()
    os.close(master)
    assert not steps, shown
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_questions_are_asked_at_a_terminal(folder: Path, target: str, revision: str) -> None:
    words = ["call", TARGETS[target], "order", "--revision", revision]
    steps: list[tuple[str, bytes | None]] = [
        ("drink (coffee, tea): ", b"milk\n"),
        ("drink (coffee, tea): ", b"tea\n"),
    ]
    shown = at_terminal(folder, [*steps, ("cups (integer) [1]: ", b"2\n")], *words)
    assert "drink must be one of coffee, tea" in shown
    assert shown.endswith("2 tea\n")


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_several_questions_are_asked_one_after_the_other(
    folder: Path, target: str, revision: str
) -> None:
    words = ["call", TARGETS[target], "both", "--revision", revision]
    steps: list[tuple[str, bytes | None]] = [
        ("First?", b""),
        ("value: ", b"one\n"),
        ("Second?", b""),
        ("value: ", b"two\n"),
    ]
    assert at_terminal(folder, steps, *words).endswith("one two\n")


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("typed", "action"), [(b"\n", "accept"), (b":d\n", "decline"), (b"\x04", "cancel")]
)
def test_a_page_waits_for_enter(
    folder: Path, target: str, revision: str, typed: bytes, action: str
) -> None:
    words = ["call", TARGETS[target], "pay", "--revision", revision]
    shown = at_terminal(folder, [("then press Enter; :d declines, :c cancels: ", typed)], *words)
    assert "Open https://example.org/pay" in shown
    assert shown.endswith(f"{action}\n")


@pytest.mark.parametrize("target", TARGETS)
def test_ctrl_c_ends_the_call_while_it_asks(folder: Path, target: str) -> None:
    shown = at_terminal(folder, [("drink (coffee, tea): ", None)], "call", TARGETS[target], "order")
    assert "Traceback" not in shown
    assert shown.rstrip().endswith("drink (coffee, tea):")


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_elsewhere_questions_are_declined_in_one_line(
    folder: Path, target: str, revision: str
) -> None:
    done = accord("call", TARGETS[target], "order", "--revision", revision, cwd=folder)
    assert done.out == "decline\n"
    assert done.err == (
        "accord: declined 'What would you like?': "
        "standard input is not a terminal, so it cannot be asked\n"
    )


# Hostile forms

KEYWORDS = [
    *("type", "title", "description", "default", "enum", "enumNames", "oneOf", "anyOf", "const"),
    *("items", "format", "minLength", "maximum", "properties", "required", "pattern", "$ref"),
]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from(
        ["string", "integer", "number", "boolean", "array", "object", "a", "[", "\x1b"]
    ),
)
schemas = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner)
    ),
    max_leaves=12,
)
lines = st.lists(
    st.sampled_from(["", "1", "a", "yes", "x,y", "é", "nan", "1e999", "::c"]), max_size=8
)


@given(
    st.dictionaries(st.sampled_from(["properties", "required", "type"]), schemas),
    st.dictionaries(st.sampled_from(["a", "b"]), schemas),
    lines,
)
def test_no_form_breaks_the_dialogue(schema: Any, properties: Any, lines: list[str]) -> None:
    for form in (schema, {**schema, "properties": properties}):
        shown, result = talk(ElicitRequest("Well?", form), *lines, None)
        assert result is not None
        assert "\x1b" not in "".join(shown)
