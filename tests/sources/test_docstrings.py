"""What a docstring says of a tool and of its parameters, in the three common styles."""

from dataclasses import dataclass
from typing import Annotated, Any

import annotated_types as at
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accord.model.tool import Tool
from accord.sources.functions import function_tool


@dataclass
class Order:
    """One order."""

    id: int


def described(doc: str | None, hint: Any = int) -> Tool:
    def tool(a, b=0): ...

    tool.__doc__ = doc
    tool.__annotations__ = {"a": hint, "b": int}
    return function_tool(tool)


def words(tool: Tool) -> dict[str, str]:
    """The description of each parameter that has one."""
    shown = tool.input_schema["properties"]
    return {name: shown[name]["description"] for name in shown if "description" in shown[name]}


GOOGLE = """Move a thing.

    It may take a while.

    Args:
        a: How far, in metres.
        b (int, optional): How fast: a word
            that goes on.

    Returns:
        Where it is now.
    """
NUMPY = """Move a thing.

    It may take a while.

    Parameters
    ----------
    a : int
        How far, in metres.
    b : int, optional
        How fast: a word
        that goes on.

    Returns
    -------
    int
        Where it is now.
    """
SPHINX = """Move a thing.

    It may take a while.

    :param a: How far, in metres.
    :param int b: How fast: a word
        that goes on.
    :type a: int
    :returns: Where it is now.
    """
MOVED = "Move a thing.\n\nIt may take a while."
BOTH = {"a": "How far, in metres.", "b": "How fast: a word that goes on."}
FIRST = {"a": "The first."}

DOCSTRINGS: dict[str, tuple[str | None, str, dict[str, str]]] = {
    "Google": (GOOGLE, MOVED, BOTH),
    "NumPy": (NUMPY, MOVED, BOTH),
    "Sphinx": (SPHINX, MOVED, BOTH),
    "none": (None, "", {}),
    "empty": ("", "", {}),
    "one line": ("Move a thing.", "Move a thing.", {}),
    "Google, other heading": ("Move.\n\nArguments:\n    a: The first.", "Move.", FIRST),
    "Google, with tabs": ("Move.\n\n\tArgs:\n\t\ta: The first.\n", "Move.", FIRST),
    "Google, blank after the heading": ("Move.\n\nArgs:  \n    a: The first.", "Move.", FIRST),
    "Google, keywords apart": (
        "Move.\n\nArgs:\n    a: The first.\n\nKeyword Args:\n    b: The second.",
        "Move.",
        {"a": "The first.", "b": "The second."},
    ),
    "Google, blank line between": (
        "Move.\n\nArgs:\n    a: The first.\n\n    b: The second.",
        "Move.",
        {"a": "The first.", "b": "The second."},
    ),
    "Google, colons in a type and below": (
        "Move.\n\nArgs:\n    a (dict[str, int]): One of\n        fast: quickly\n    b: Then.",
        "Move.",
        {"a": "One of fast: quickly", "b": "Then."},
    ),
    "Google, an unknown parameter": ("Move.\n\nArgs:\n    z: Gone.", "Move.", {}),
    "NumPy, two at once": (
        "Move.\n\nParameters\n----------\na, b : int\n    Either.\n",
        "Move.",
        {"a": "Either.", "b": "Either."},
    ),
    "NumPy, no type": ("Move.\n\nParameters\n----------\na\n    The first.\n", "Move.", FIRST),
    "Sphinx, right after the summary": ("Move.\n:param a: The first.", "Move.", FIRST),
    "a heading inside a sentence": ("The Args: are many.", "The Args: are many.", {}),
}


@pytest.mark.parametrize(("doc", "text", "parameters"), DOCSTRINGS.values(), ids=list(DOCSTRINGS))
def test_a_docstring_describes_the_tool_and_each_parameter(
    doc: str | None, text: str, parameters: dict[str, str]
) -> None:
    tool = described(doc)
    assert tool.description == text
    assert words(tool) == parameters


@pytest.mark.parametrize(
    "doc",
    [
        "Move.\n\nArgs:\n    a: The first.\n\nCall list first.",
        "Move.\n\nParameters\n----------\na : int\n    The first.\n\nNotes\n-----\nCall list first.",
        "Move.\n\n:param a: The first.\n\nCall list first.",
    ],
    ids=["Google", "NumPy", "Sphinx"],
)
def test_prose_after_the_parameters_is_not_part_of_one(doc: str) -> None:
    assert words(described(doc)) == FIRST


def test_a_description_that_is_given_replaces_that_of_the_docstring() -> None:
    def move(a: int):
        """Move a thing.

        Args:
            a: How far.
        """

    tool = function_tool(move, description="Shift it.")
    assert (tool.description, words(tool)) == ("Shift it.", {"a": "How far."})


def test_words_at_the_parameter_win_over_the_docstring() -> None:
    assert words(described(GOOGLE, Annotated[int, "Its own."]))["a"] == "Its own."


def test_words_for_the_parameter_win_over_those_for_its_type() -> None:
    assert words(described(GOOGLE, Order))["a"] == BOTH["a"]


def test_words_and_bounds_stand_together() -> None:
    schema = described(GOOGLE, Annotated[int, at.Ge(1)]).input_schema["properties"]["a"]
    assert schema == {"type": "integer", "minimum": 1, "description": BOTH["a"]}


pieces = st.sampled_from(
    [
        *("Args:", "Parameters", "----------", "Returns:", ":param a:", ":param", ":type a: int"),
        *(
            "    a: x",
            "a : int",
            "        more",
            "",
            "  ",
            "\t",
            ":",
            "b (",
            "*",
            "\r",
            "\x0c",
            "é",
        ),
    ]
)
odd_docstrings = st.text() | st.lists(pieces | st.text(max_size=5)).map("\n".join)


@given(odd_docstrings)
@example("Parameters\n---")
@example(":param" + " " * 2000)
def test_no_docstring_keeps_a_function_from_being_a_tool(doc: str) -> None:
    tool = described(doc)
    assert tool.description == tool.description.strip()
    assert words(tool).keys() <= {"a", "b"}
    assert all(text == " ".join(text.split()) for text in words(tool).values())


@given(odd_docstrings.filter(lambda doc: "a:" not in doc))
def test_a_section_after_any_prose_stays_out_of_the_description(doc: str) -> None:
    tool = described(doc + "\n\nArgs:\n    a: Zebra.\n")
    assert "Zebra" not in tool.description
