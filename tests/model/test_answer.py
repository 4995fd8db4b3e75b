"""What a tool says, before any wire: Answer and Problem, and what goes along with them."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import Answer, ContractError, FieldError, Notice, Page, Problem
from accord.model.answer import KINDS, KindRule

RULES = {
    "validation": ("VALIDATION_ERROR", False),
    "authentication": ("UNAUTHENTICATED", False),
    "authorization": ("FORBIDDEN", False),
    "not_found": ("NOT_FOUND", False),
    "conflict": ("CONFLICT", False),
    "rate_limit": ("RATE_LIMITED", True),
    "timeout": ("TIMEOUT", True),
    "unavailable": ("UNAVAILABLE", True),
    "internal": ("INTERNAL_ERROR", False),
}
FIELD = FieldError("order.lines[0].qty", "must be at least 1")
FULL = Problem.not_found(
    "No customer 7",
    code="NO_CUSTOMER",
    fields=[FIELD],
    remediation="call customers first",
    retryable=True,
    retry_after=1.5,
)
FIELDS = ("message", "kind", "code", "fields", "remediation", "retryable", "retry_after")


def said(problem: Problem) -> tuple[Any, ...]:
    return tuple(getattr(problem, name) for name in FIELDS)


def wire_form(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


# Problem


def test_one_table_has_the_nine_kinds() -> None:
    assert {kind: KindRule(*rule) for kind, rule in RULES.items()} == KINDS


@pytest.mark.parametrize("kind", RULES)
def test_each_kind_has_a_constructor_that_follows_its_rule(kind: str) -> None:
    problem = getattr(Problem, kind)("No.")
    assert said(problem) == ("No.", kind, RULES[kind][0], (), None, RULES[kind][1], None)


def test_a_problem_of_no_kind_is_internal() -> None:
    assert Problem("No.").kind == "internal"


def test_what_is_given_wins_over_the_rule_of_the_kind() -> None:
    remediation = "call customers first"
    assert said(FULL) == (
        *("No customer 7", "not_found", "NO_CUSTOMER", (FIELD,), remediation, True, 1.5),
    )


def test_field_errors_come_from_any_iterable() -> None:
    assert Problem.validation("No.", fields=(f for f in [FIELD])).fields == (FIELD,)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_read_only(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        setattr(FULL, name, None)
    assert getattr(FULL, name) is not None


def test_a_field_cannot_be_deleted() -> None:
    problem = Problem("No.")
    with pytest.raises(AttributeError, match="message"):
        del problem.message


def test_a_problem_is_an_ordinary_exception() -> None:
    cause = KeyError(7)
    with pytest.raises(Exception, match="No customer 7") as caught:
        raise Problem.not_found("No customer 7") from cause
    caught.value.add_note("seen in the shop")
    assert (str(caught.value), caught.value.args) == ("No customer 7", ("No customer 7",))
    assert (caught.value.__cause__, caught.value.__notes__) == (cause, ["seen in the shop"])


@pytest.mark.parametrize(
    "through",
    [lambda p: pickle.loads(pickle.dumps(p)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copy_says_the_same(through: Callable[[Problem], Problem]) -> None:
    assert said(through(FULL)) == said(FULL)


def test_a_subclass_has_the_same_constructors() -> None:
    class Gone(Problem):
        pass

    assert type(Gone.not_found("It left.")) is Gone


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"message": ""}, "must not be empty"),
        ({"message": "No.", "kind": "teapot"}, "no problem kind 'teapot'; there are validation, "),
    ],
    ids=["no message", "unknown kind"],
)
def test_a_problem_that_says_nothing_is_our_own_fault(arguments: Any, sentence: str) -> None:
    with pytest.raises(ContractError, match=sentence):
        Problem(**arguments)


def test_a_misspelt_detail_is_refused() -> None:
    with pytest.raises(TypeError, match="remediaton"):
        Problem("No.", remediaton="try again")  # type: ignore[call-arg]


def test_a_field_error_always_says_how_severe_it_is() -> None:
    assert wire_form(FIELD) == {
        "field": "order.lines[0].qty",
        "error": "must be at least 1",
        "severity": "error",
    }


# Answer


def test_data_is_positional_and_the_rest_is_not() -> None:
    assert Answer([1]).data == [1]
    with pytest.raises(TypeError):
        Answer([1], "Found 1 rows")  # type: ignore[call-arg]


def test_an_answer_may_have_words_alone() -> None:
    assert Answer(message="Done").data is None


@pytest.mark.parametrize("name", ["data", "message", "page", "warnings", "partial"])
def test_an_answer_is_frozen(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Answer(1), name, None)


def test_a_warning_given_as_a_string_becomes_a_notice() -> None:
    old = Notice("old", code="STALE", severity="info")
    assert Answer(1, warnings=["slow", old]).warnings == (Notice("slow"), old)


def test_further_warnings_come_last_and_change_nothing_else() -> None:
    first = Answer([1], message="Found", page=Page(limit=1), warnings=["a"])
    both = first.with_warnings([Notice("b")])
    assert both.warnings == (Notice("a"), Notice("b"))
    assert (both.data, both.message, both.page) == (first.data, first.message, first.page)
    assert first.warnings == (Notice("a"),)


# Page and Notice on the wire


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Page(), {}),
        (Page(offset=0, limit=20, has_more=False), {"offset": 0, "limit": 20, "hasMore": False}),
        (Page(next_offset=20, total=0), {"nextOffset": 20, "total": 0}),
        (Page(cursor="c", before="b", after="a"), {"cursor": "c", "before": "b", "after": "a"}),
        (Notice("old"), {"message": "old"}),
        (
            Notice("old", code="STALE", severity="info"),
            {"message": "old", "code": "STALE", "severity": "info"},
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_only_what_is_known_goes_on_the_wire(value: Any, expected: Any) -> None:
    assert wire_form(value) == expected


numbers = st.none() | st.integers(0)
words = st.none() | st.text()


@given(
    st.builds(
        Page,
        offset=numbers,
        limit=numbers,
        total=numbers,
        has_more=st.none() | st.booleans(),
        next_offset=numbers,
        cursor=words,
        before=words,
        after=words,
    )
    | st.builds(Notice, st.text(), words, st.sampled_from(["info", "warning", "error"]))
)
def test_the_wire_form_reads_back_as_it_was(value: Page | Notice) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value
