"""Labelled replies, one case a line: files of them, and what a reading must have.

`cases/written/` has cases that were written by hand; `test_cases.py` asserts them. `cases/work/` and
`cases/proof/` have recorded replies, a file per server; they are scored (`score.py`): rules may be
written for `work`, and `proof` shows how well they hold for other servers. `REFERENCE` are the labelled
replies of `tests/corpus`.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from accord import Reading

Label = Literal["list", "single", "action", "tool_catalog", "error"]

CASES: Final = Path(__file__).parent / "cases"
CORPUS: Final = Path(__file__).parents[1] / "corpus"
RECORDED: Final = ("work", "proof")
WRITTEN: Final = "written"
REFERENCE: Final = "reference"
SPLITS: Final = (*RECORDED, WRITTEN, REFERENCE)


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reply with the call that it answers, and its label."""

    server: str
    """`written` if it is the reply of no particular server."""
    source: str
    """`written`, or the package that replied."""
    tool: str | None
    arguments: dict[str, Any]
    reply: Any
    """As it is given to `read`: a tool result, a JSON-RPC message, or a payload or text alone."""
    label: Label | None
    """The right type of the response; None until someone labels the case."""
    also: list[Label]
    """Types that are right too."""
    items: int | None
    """Number of items, if the label is `list` or `tool_catalog`."""
    why: str
    expect: dict[str, Any] = {}
    """Further values that the reading must have; ATTRIBUTES has the names."""
    misread: str = ""
    """Why the reader does not get this case right; the test fails once it does."""


class Located(NamedTuple):
    """A case and its position, such as `pages.jsonl:3`."""

    place: str
    case: Case


def load(split: str) -> list[Located]:
    """Return the cases of a split; those without a label too."""
    return list(_reference() if split == REFERENCE else _cases(split))


def _cases(split: str) -> Iterator[Located]:
    for path, number, line in _lines(CASES / split):
        place = f"{path.name}:{number}"
        try:
            yield Located(place, msgspec.json.decode(line, type=Case))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{split}/{place}: {error}") from None


def _reference() -> Iterator[Located]:
    for path, number, line in _lines(CORPUS):
        record = json.loads(line)
        if label := record.get("reading"):
            case = Case(
                server=record["server"],
                source="tests/corpus",
                tool=record.get("tool"),
                arguments=record.get("arguments", {}),
                reply=record["reply"],
                label=label["type"],
                also=[],
                items=label.get("items"),
                why=record["case"],
            )
            yield Located(f"{path.name}:{number}", case)


def _lines(folder: Path) -> Iterator[tuple[Path, int, bytes]]:
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            yield path, number, line


def _member(name: str) -> Callable[[Reading], Any]:
    return lambda reading: reading.response.to_dict().get(name)


def _of_error(name: str) -> Callable[[Reading], Any]:
    return lambda reading: getattr(reading.response.error, name, None)


ATTRIBUTES: Final[dict[str, Callable[[Reading], Any]]] = {
    # Members of the response as they are sent, and of its error.
    "data": _member("data"),
    "message": _member("message"),
    "status": _member("status"),
    "metadata": _member("metadata"),
    "pagination": _member("pagination"),
    "error_code": _of_error("code"),
    "error_message": _of_error("message"),
    "error_details": _of_error("details"),
    # Attributes of the reading. A warning is its message.
    "value": lambda reading: reading.value,
    "page": lambda reading: msgspec.to_builtins(reading.page),
    "warnings": lambda reading: [notice.message for notice in reading.warnings],
    "is_truncated": lambda reading: reading.is_truncated,
    "confidence": lambda reading: reading.confidence,
    "findings": lambda reading: list(reading.findings),
}


def differences(case: Case, reading: Reading) -> list[str]:
    """Return how a reading differs from its case, one line each; none if it is right."""
    found, count = reading.response.response_type, items_of(reading)
    if found not in (case.label, *case.also):
        return [f"expected {case.label}, read {found}"]
    lines = []
    if found == case.label and case.items is not None and count != case.items:
        lines.append(f"expected {case.items} items, read {count}: {reading.response.data!r}")
    for name, expected in case.expect.items():
        value = ATTRIBUTES[name](reading)
        if value != expected:
            lines.append(f"expected {name} {expected!r}, read {value!r}")
    return lines


def items_of(reading: Reading) -> int | None:
    """Return the number of items of a list or catalog, None for other responses."""
    data = reading.response.data
    is_list = reading.response.response_type in ("list", "tool_catalog")
    return len(data) if is_list and isinstance(data, list) else None
