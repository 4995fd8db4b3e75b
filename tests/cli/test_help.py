"""Help texts: grouped and aligned, coloured on a terminal only, and as wide as it is."""

import os
import re
import subprocess

import pytest

from accord.cli.main import COMMANDS, VERBS, parser_of
from cli.command import ACCORD, ENVIRONMENT, EXAMPLES, accord, accord_in_terminal

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def test_accord_alone_prints_the_commands_in_groups() -> None:
    done = accord()
    assert (done.code, done.err) == (0, "")
    for title, group in COMMANDS.items():
        section = done.out.split(f"\n{title}:\n")[1].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(group)


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_other_words_for_the_same_help(words: list[str]) -> None:
    assert accord(*words) == accord()


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_command_names_all_it_takes_and_has_examples(verb: str) -> None:
    done = accord(verb, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out == accord("help", verb).out
    assert done.out.startswith(f"{VERBS[verb]}.\n\nUsage: accord {verb}")
    for action in parser_of(verb)._actions:
        if action.help != "==SUPPRESS==":
            assert all(
                name in done.out for name in action.option_strings or [str(action.metavar or "")]
            )
    examples = done.out.split("\nExamples:\n")[1].splitlines()
    assert examples
    assert all(line.startswith("  ") and "accord " in line for line in examples)


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("words", [[], ["serve", "-h"], ["call", "-h"]], ids=str)
def test_texts_are_as_wide_as_the_terminal(columns: int, words: list[str]) -> None:
    shown = COLOUR.sub("", accord_in_terminal(columns, *words))
    described = shown.partition("Examples:")[0].splitlines()
    assert all(len(line) <= columns for line in described if len(line.split()) > 2)


def test_a_terminal_gets_colours_and_the_same_text() -> None:
    for words in ([], ["call", "--help"], ["doctor", "--help"]):
        shown = accord_in_terminal(80, *words)
        assert "\x1b[1mUsage:\x1b[0m" in shown
        assert COLOUR.sub("", shown) == accord(*words).out


@pytest.mark.parametrize("setting", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colours_can_be_switched_off(
    setting: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in setting.items():
        monkeypatch.setitem(ENVIRONMENT, name, value)
    assert "\x1b" not in accord_in_terminal(80, "--help")


def test_an_empty_no_color_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "NO_COLOR", "")
    assert "\x1b" in accord_in_terminal(80, "--help")


def test_what_was_typed_does_not_drive_the_terminal() -> None:
    for words in (["call", "a", "b", "--x\x1b[2J"], ["\x1b[2J"], ["--\x1b[2J"], ["schema", "\x1b"]):
        assert "\x1b" not in accord(*words).err


@pytest.mark.parametrize("words", [["--help"], ["serve", "--help"], ["--version"]], ids=str)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_an_encoding_without_a_character_is_no_traceback(words: list[str], encoding: str) -> None:
    done = subprocess.run(
        [ACCORD, *words], env=ENVIRONMENT | {"PYTHONIOENCODING": encoding}, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("words", [[], ["serve", "--help"], ["--version"]], ids=str)
def test_a_reader_that_has_left_is_no_traceback(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [ACCORD, *words], cwd=EXAMPLES, env=ENVIRONMENT, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    assert done.stderr == b""
