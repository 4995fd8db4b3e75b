"""How sure a reading is: as sure as such readings turned out to be right on servers unknown to us."""

import msgspec
import pytest

from accord import read

OBJECT = msgspec.json.encode({"name": "Ann", "age": 7}).decode()
LINE = "Ann is seven"
LINES = "Ann\nis seven"

CASES = [
    ("get_user", OBJECT, "single", "certain"),
    ("get_user", LINE, "single", "likely"),
    ("get_user", LINES, "single", "likely"),
    ("user", OBJECT, "single", "likely"),
    ("user", LINE, "single", "likely"),
    (None, OBJECT, "single", "likely"),
    ("list_users", LINE, "single", "guess"),
    ("create_user", OBJECT, "action", "certain"),
    ("create_user", "User Ann created", "action", "certain"),
    ("create_user", "User Ann\nis seven", "action", "likely"),
    ("list_users", "[]", "list", "certain"),
    ("list_users", "Found 2 users:\n- Ann\n- Bo", "list", "likely"),
    ("search_users", "No users found", "list", "likely"),
    ("get_user", "Error: connection refused", "error", "certain"),
    ("get_user", '{"success": false, "error": "gone"}', "error", "certain"),
]


@pytest.mark.parametrize(("tool", "text", "kind", "confidence"), CASES)
def test_a_reading_says_how_sure_it_is(
    tool: str | None, text: str, kind: str, confidence: str
) -> None:
    reading = read({"content": [{"type": "text", "text": text}]}, tool=tool)
    assert (reading.response.response_type, reading.confidence) == (kind, confidence)
