"""The class of an exception and its message are a failure; words about one are not."""

import pytest

from accord import read

SQLALCHEMY = """(sqlite3.OperationalError) no such table: users
[SQL: SELECT * FROM users]
(Background on this error at: https://sqlalche.me/e/20/e3q8)"""

RAISED = [
    "(sqlite3.OperationalError) no such table: users",
    SQLALCHEMY,
    '(psycopg2.errors.UndefinedTable) relation "x" does not exist\nLINE 1: SELECT * FROM x\n',
    "(sqlalchemy.dialects.postgresql.asyncpg.ProgrammingError) <class 'asyncpg.exceptions.X'>: no",
    "(builtins.ValueError) month must be in 1..12",
    "(pymysql.err.ProgrammingError) (1146, \"Table 'shop.users' does not exist\")",
    "psycopg2.errors.UndefinedTable: relation",
    "asyncpg.exceptions.TooManyConnections: sorry",
    "sqlalchemy.exc.NoSuchTableError: users",
    "`java.lang.NullPointerException: null`",
]


@pytest.mark.parametrize("tool", ["run_query", "list_users", "query", "get_user", "add_user"])
@pytest.mark.parametrize("text", RAISED)
def test_a_class_and_its_message_are_a_failure(tool: str, text: str) -> None:
    reading = read({"content": [{"type": "text", "text": text}]}, tool)
    assert reading.is_failure, reading.rules
    assert reading.response.error is not None
    assert reading.response.error.message == text.strip()


HARMLESS = [
    ("read_file", SQLALCHEMY + "\n\n2026-11-18 10:00:01 restarted"),
    ("get_logs", "(sqlite3.OperationalError) no such table: users"),
    ("get_page", "(sqlite3.OperationalError) is raised for a table that is missing."),
    ("get_user", "(sqlite3.OperationalError) means: create the table"),
    ("get_user", "Ada (ada.Error) Lovelace"),
    ("get_user", "(see errors.md) for more"),
    ("get_user", "(v1.2.Beta) the new release"),
    ("run_query", "id | message\n1 | (sqlite3.OperationalError) no such table"),
    ("list_notes", "- (app.models) User\n- (app.models) Order"),
]


@pytest.mark.parametrize(("tool", "text"), HARMLESS)
def test_words_about_an_exception_are_no_failure(tool: str, text: str) -> None:
    reading = read({"content": [{"type": "text", "text": text}]}, tool)
    assert not reading.is_failure, reading.rules
