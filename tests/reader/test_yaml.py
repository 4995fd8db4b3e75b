"""Any value written in YAML is read as that value; `cases/written/formats_yaml.jsonl` has examples."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from accord.reader import read

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
WORDS = st.from_regex(r"[A-Za-z][A-Za-z ]{0,20}[A-Za-z]", fullmatch=True).filter(
    lambda words: words not in ("true", "false", "null")
)
LEAVES = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | WORDS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def written(value: Any, depth: int = 0) -> str:
    """A value in YAML, from the next line on if it is a block."""
    blanks = "  " * depth
    if value == [] or value == {}:
        return " []\n" if value == [] else " {}\n"
    if isinstance(value, dict):
        return "\n" + "".join(
            f"{blanks}{name}:{written(each, depth + 1)}" for name, each in value.items()
        )
    if isinstance(value, list):
        return "\n" + "".join(f"{blanks}-{written(each, depth + 1)}" for each in value)
    return f" {_said(value)}\n"


def _said(value: Any) -> str:
    return {"None": "null", "True": "true", "False": "false"}.get(str(value), str(value))


def value_in(text: str) -> Any:
    return read({"content": [{"type": "text", "text": text}]}, "get_thing").value


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_what_is_written_is_read(value: dict[str, Any]) -> None:
    text = f"seen: true\n{written(value).lstrip()}" if "seen" not in value else "seen: true"
    expected = {"seen": True} | (value if "seen" not in value else {})
    assert value_in(text) == expected


@given(st.text(alphabet="ab:-# \n'\"[]{}|>&", max_size=60))
def test_anything_is_read_or_left(text: str) -> None:
    assert isinstance(value_in(f"ok: true\n{text}"), str | dict | list)
