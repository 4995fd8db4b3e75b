"""Whatever a tool can say, for laws: JSON values, Answers with all that goes along, Problems."""

import json
import string
from typing import Any

from hypothesis import strategies as st

from accord import (
    Answer,
    Audio,
    Embedded,
    Encoded,
    FieldError,
    Image,
    Link,
    Notice,
    Page,
    Problem,
)
from accord.model.answer import KINDS


def at_times(
    strategy: st.SearchStrategy[Any], *, otherwise: Any = None, one_in: int = 2
) -> st.SearchStrategy[Any]:
    """Something now and then: a union would give each of its own branches an equal chance."""
    chances = [True] + [False] * (one_in - 1)
    return st.sampled_from(chances).flatmap(lambda yes: strategy if yes else st.just(otherwise))


# Words

LOOKS_LIKE_JSON = ("5", "null", "true", "[]", "{}", '"a"', '{"result": 1}', "[1, 2]", "-0.5e3")
DETAILS_IN_WORDS = ("\n\nWarning: slow", "\n\n2 of 3 rows; more follow.")
LOOKS_ODD = (
    *(f"Done.{words}" for words in DETAILS_IN_WORDS),
    "",
    " ",
    "\n",
    "\x00",
    "\u2028",
    "\ufeff",
    "\U0001f9ff",
    "e\u0301",
    "two\nlines",
    "\\",
    '"',
    "NaN",
)
SENTENCES = ("Found 1 rows:", "Deleted.", "3 of 4 done; the last is locked", "Zoë has no orders")

words = (
    st.sampled_from((*LOOKS_LIKE_JSON, *LOOKS_ODD, *SENTENCES))
    | st.text(string.printable, max_size=12)
    | st.text(max_size=6)  # any character but a lone surrogate
)
sentences = st.sampled_from(SENTENCES) | words
visible = words.filter(lambda text: bool(text.strip()))

# JSON values

RESERVED = (  # names that mean something in some profile, or to MCP
    *("result", "items", "text", "content", "isError", "structuredContent", "_meta", "resultType"),
    *("inputRequests", "requestState", "page", "warnings", "partial", "truncated", "wrapper"),
    *("success", "data", "error", "meta", "_warnings", "toolName", "responseType", "metadata"),
    *("_accord", "task", "jsonrpc", "id", "$ref", "__proto__", ""),
)
HUGE = (2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**30, -(10**300))

numbers = (
    st.integers(-10, 10)
    | st.integers()
    | st.sampled_from(HUGE)
    | st.floats(allow_nan=False, allow_infinity=False)
)
detailed = st.sampled_from(  # what looks like data with details, or nearly
    (
        *({"_accord": each} for each in ({"page": {"total": 3}}, {"partial": True}, {}, 5, None)),
        {"a": 1, "_accord": {"truncated": True, "_accord": {"page": {}}}},
        {"result": [1], "page": {"hasMore": True, "cursor": "c"}},
        {"result": "x", "warnings": [{"message": "slow", "code": "SLOW"}]},
        {"result": None, "truncated": True},
        {"result": 1, "page": 2},
        {"result": 1, "warnings": []},
        {"result": 1, "partial": False},
        {"result": 1, "page": {"size": 1}},
    )
)
scalars = st.none() | st.booleans() | numbers | words
names = st.sampled_from(RESERVED) | st.text(string.ascii_letters, max_size=3) | words


def lists(of: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(of, max_size=4)


def objects(of: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(names, of, max_size=4)


@st.composite
def towers(draw: st.DrawFn) -> Any:
    """A value far down in lists and objects."""
    value: Any = draw(scalars)
    for name in draw(st.lists(st.none() | names, min_size=8, max_size=40)):
        value = [value] if name is None else {name: value}
    return value


shallow = st.recursive(scalars, lambda inner: lists(inner) | objects(inner), max_leaves=8)
json_values = (
    scalars | lists(shallow) | objects(shallow) | objects(scalars) | shallow | towers() | detailed
)
records = st.lists(st.fixed_dictionaries({"id": st.integers(), "name": words}), max_size=4)

# What goes along with an answer

counts = st.none() | st.integers(0, 10) | st.sampled_from(HUGE[:3])
cursors = at_times(words)
pages = st.builds(
    Page,
    offset=counts,
    limit=counts,
    total=counts,
    has_more=st.none() | st.booleans(),
    next_offset=counts,
    cursor=cursors,
    before=cursors,
    after=cursors,
)
severities = st.sampled_from(["info", "warning", "error"])
notices = st.builds(Notice, words, code=at_times(words), severity=severities)
warnings = st.lists(words | notices, max_size=3)

addresses = st.sampled_from(["shop://orders/7", "file:///a.txt", "https://example.com/?q=%7B%7D"])
media_types = st.sampled_from(["image/png", "audio/wav", "application/pdf", "text/plain"])
pictures_and_sounds = st.binary(max_size=8)
blocks = (
    st.builds(Image, pictures_and_sounds, media_types)
    | st.builds(Audio, pictures_and_sounds, media_types)
    | st.builds(Link, addresses, words, st.none() | media_types, st.none() | words)
    | st.builds(Embedded, addresses, words | pictures_and_sounds, st.none() | media_types)
)


def answers(data: st.SearchStrategy[Any]) -> st.SearchStrategy[Answer[Any]]:
    """Answers with this data, each with nothing, something or everything beside it."""
    return st.builds(Answer, data) | st.builds(
        Answer,
        data,
        message=at_times(sentences),
        text=at_times(sentences, one_in=6),
        page=at_times(pages),
        warnings=at_times(warnings, otherwise=()),
        blocks=at_times(st.lists(blocks, min_size=1, max_size=2), otherwise=(), one_in=3),
        name=at_times(st.sampled_from(["orders", "result", "items"]) | words),
        partial=st.booleans(),
        truncated=st.booleans(),
    )


def encoded(data: st.SearchStrategy[Any]) -> st.SearchStrategy[Encoded]:
    """Generate data as a source that writes JSON itself returns it."""
    return data.map(lambda value: Encoded(json.dumps(value).encode()))


# Problems

field_errors = st.builds(FieldError, words, words, severity=severities)
optional = at_times(words)
problems = st.builds(
    Problem,
    visible,
    kind=st.sampled_from(list(KINDS)),
    code=at_times(visible),
    summary=optional,
    fields=at_times(st.lists(field_errors, max_size=3), otherwise=()),
    remediation=optional,
    retryable=st.none() | st.booleans(),
    retry_after=st.none() | st.floats(0, 1e6) | st.integers(0, 60),
)
