"""Ordinary functions, named like the tools of the five documents, and one server for each.

They do what they say, on a small scale: nothing here is a reply that was written beforehand.
"""

import sqlite3
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from accord import Answer, FieldError, Page, Problem, Server
from accord.sources.functions import function_tool

# The Django REST framework document

customers = Server("django-rest-framework-mcp", version="0.1.0")
CUSTOMERS = {"1": {"id": 1, "name": "Alice", "email": "alice@example.com"}}


@customers.tool(read_only=True)
def customers_list() -> list[dict[str, Any]]:
    """List customers."""
    return list(CUSTOMERS.values())


@customers.tool(read_only=True)
def customers_retrieve(kwargs: dict[str, str]) -> dict[str, Any]:
    """Retrieve one customer."""
    if kwargs["pk"] not in CUSTOMERS:
        refusal = {"detail": "Not found."}
        raise Problem.not_found(f"ViewSet returned error: {refusal}")
    return CUSTOMERS[kwargs["pk"]]


# The response-v2 document

specs = Server("foundry", version="1.0.0")
TASKS = {"alpha": [{"id": "t1", "done": True}, {"id": "t2", "done": False}], "beta": []}
BLOCKED = {"t2": "t1 is under review"}


@specs.tool(read_only=True)
def spec_tasks(spec: str, limit: int = 50) -> Answer[list[dict[str, Any]]]:
    """The tasks of one spec."""
    if spec not in TASKS:
        raise Problem.not_found(f"There is no spec {spec!r}", remediation="call spec_list")
    tasks = TASKS[spec]
    page = Page(limit=limit, total=len(tasks), has_more=len(tasks) > limit)
    return Answer(tasks[:limit], name="tasks", page=page)


@specs.tool
def task_complete(task: str) -> Answer[dict[str, Any]]:
    """Complete a task, unless something blocks it."""
    if task in BLOCKED:
        state = {"task": task, "completed": False, "blocked_by": BLOCKED[task]}
        return Answer(state, partial=True, warnings=[f"{task} is blocked: {BLOCKED[task]}"])
    return Answer({"task": task, "completed": True})


@specs.tool(read_only=True)
def spec_overview(spec: str) -> dict[str, Any]:
    """A spec and its tasks."""
    return {"spec": {"name": spec}, "tasks": TASKS[spec]}


@specs.tool
def task_forget(task: str) -> None:
    """Forget a task."""
    if not task.startswith("t"):
        fault = FieldError("task", "must begin with t")
        raise Problem.validation(f"{task!r} is no task", fields=[fault])


# The character sheet document

sheets = Server("dnd-character-sheet-filler", version="1.0.0")
HIGHEST_SCORE = 20
LEVELS = {"cantrips": 0, "first_level": 1}


@sheets.tool(
    description="Fills a D&D 5e character sheet PDF with provided character data including spells, "
    "proficiencies, and narrative elements"
)
def fill_dnd_character_sheet(
    character_data: dict[str, Any],
    output_path: str | UnsetType = UNSET,
    allow_rule_violations: bool = False,
) -> dict[str, Any]:
    """Fill a sheet.

    Args:
        character_data: Complete D&D 5e character information
        output_path: Path where filled PDF should be saved
    """
    severity: Any = "warning" if allow_rule_violations else "error"
    abilities, spells = character_data["abilities"], character_data["spells"]
    violations = [
        FieldError(f"abilities.{name}", _too_high(name, score), severity)
        for name, score in abilities.items()
        if score > HIGHEST_SCORE
    ]
    violations += [
        FieldError(f"spells.{place}[{index}].level", _misplaced(spell, place), severity)
        for place, level in LEVELS.items()
        for index, spell in enumerate(spells[place])
        if spell["level"] != level
    ]
    if violations and not allow_rule_violations:
        raise Problem.validation("Invalid character data", fields=violations)
    filled: dict[str, Any] = {"success": True, "output_file": output_path or "character.pdf"}
    if violations:
        return filled | {"validation_errors": violations, "rule_violations_overridden": True}
    return filled | {
        "calculated_fields": _calculated(abilities, character_data["character"]["level"]),
        "spells_organized": {f"{place}_placed": len(spells[place]) for place in LEVELS},
    }


def _too_high(name: str, score: int) -> str:
    return f"{name.capitalize()} score {score} exceeds maximum of {HIGHEST_SCORE}"


def _misplaced(spell: dict[str, Any], place: str) -> str:
    return f"Spell {spell['name']!r} has level {spell['level']} but was placed in {place} array"


def _calculated(abilities: dict[str, int], level: int) -> dict[str, int]:
    """The document's figures for spells are those of a character that casts by constitution."""
    shown = ("strength", "dexterity", "constitution")
    modifiers = {f"{name}_modifier": (abilities[name] - 10) // 2 for name in shown}
    bonus = 2 + (level - 1) // 4 + modifiers["constitution_modifier"]
    return modifiers | {"spell_attack_bonus": bonus, "spell_save_dc": 8 + bonus}


# The SQLite document

database = Server("sqlite-mcp-server", version="1.0.0")
_connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
_connection.row_factory = sqlite3.Row
_connection.executescript("""
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO users (name, email) VALUES ('John Doe', 'john@example.com');
""")


def list_tables() -> Answer[list[str]]:
    """List all tables in the SQLite database"""
    found = _connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    names = [row["name"] for row in found]
    lines = [f"Found {len(names)} tables:", *(f"- {name}" for name in names)]
    return Answer(names, text="\n".join(lines))


EMPTY: dict[str, Any] = {"type": "object", "properties": {}, "required": []}  # as in the document
database.add(msgspec.structs.replace(function_tool(list_tables), input_schema=EMPTY))


@database.tool
def describe_table(table_name: str) -> Answer[dict[str, Any]]:
    """Describe the schema of a specific table

    Args:
        table_name: Name of the table to describe
    """
    columns = [
        {
            "name": column["name"],
            "type": column["type"],
            "not_null": bool(column["notnull"] or column["pk"]),
            "primary_key": bool(column["pk"]),
            "default_value": column["dflt_value"],
        }
        for column in _connection.execute(f"PRAGMA table_info('{table_name}')")
    ]
    (sql,) = _connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", [table_name])
    described = {"table_name": table_name, "columns": columns, "create_sql": sql["sql"]}
    return Answer(described, message=f"Table: {table_name}")


@database.tool
def run_query(query: str) -> Answer[list[dict[str, Any]]]:
    """Run a SELECT query and return results as JSON

    Args:
        query: SQL SELECT query to execute
    """
    if not query.upper().startswith("SELECT"):
        raise Problem.authorization("Only SELECT queries are allowed for security reasons")
    rows = [dict(row) for row in _connection.execute(query)]
    return Answer(rows, message=f"Query executed successfully. Found {len(rows)} rows:")


@database.tool
def insert_row(table_name: str, data: dict[str, Any]) -> Answer[None]:
    """Insert a new row into a table

    Args:
        table_name: Name of the table to insert into
        data: Column names and values to insert
    """
    places = ", ".join("?" * len(data))
    sql = f"INSERT INTO {table_name} ({', '.join(data)}) VALUES ({places})"
    done = _connection.execute(sql, list(data.values()))
    changes = f"Last insert ID: {done.lastrowid}, Changes: {done.rowcount}"
    return Answer(message=f"Row inserted successfully. {changes}")


@database.tool
def update_row(table_name: str, data: dict[str, Any], where: dict[str, Any]) -> Answer[None]:
    """Update rows in a table based on a condition

    Args:
        table_name: Name of the table to update
        data: Column names and new values
        where: WHERE conditions (column: value pairs)
    """
    changes = ", ".join(f"{name} = ?" for name in data)
    sql = f"UPDATE {table_name} SET {changes} WHERE {_conditions(where)}"
    done = _connection.execute(sql, [*data.values(), *where.values()])
    return Answer(message=f"Rows updated successfully. Changes: {done.rowcount}")


@database.tool
def delete_row(table_name: str, where: dict[str, Any]) -> Answer[None]:
    """Delete rows from a table based on a condition

    Args:
        table_name: Name of the table to delete from
        where: WHERE conditions (column: value pairs)
    """
    sql = f"DELETE FROM {table_name} WHERE {_conditions(where)}"
    done = _connection.execute(sql, list(where.values()))
    return Answer(message=f"Rows deleted successfully. Changes: {done.rowcount}")


def _conditions(where: dict[str, Any]) -> str:
    return " AND ".join(f"{name} = ?" for name in where)


# The generic response document: a tool for each that it names

discord = Server("discord", version="1.0.0")
CHANNELS = [{"id": "123456789", "name": "general", "type": "text"}] + [
    {"id": f"{number}", "name": f"room {number}", "type": "voice"} for number in range(149)
]
MESSAGES = [{"id": f"{number}", "content": "hi"} for number in range(3)]
SILENT = "5"
TIME = "2024-01-01T12:00:00Z"


@discord.tool(read_only=True)
def discord_list_guilds() -> list[dict[str, Any]]:
    """List guilds."""
    return [{"id": "1", "name": "makers"}]


@discord.tool(read_only=True)
def discord_list_channels(offset: int = 0, limit: int = 50) -> Answer[list[dict[str, Any]]]:
    """List channels."""
    shown = CHANNELS[offset : offset + limit]
    end = offset + len(shown)
    more = end < len(CHANNELS)
    page = Page(
        offset=offset,
        limit=limit,
        total=len(CHANNELS),
        has_more=more,
        next_offset=end if more else None,
    )
    return Answer(shown, page=page)


@discord.tool(read_only=True)
def discord_list_guild_members() -> list[dict[str, Any]]:
    """List the members of a guild."""
    return [{"id": "123456789", "nick": None}]


@discord.tool(read_only=True)
def discord_list_channel_filters() -> dict[str, Any]:
    """Show which channels are filtered."""
    return {"type": "guild", "filters": {"allowed": ["general"], "denied": []}}


@discord.tool(read_only=True)
def discord_get_pending_guild_channels(limit: int = 1) -> Answer[list[dict[str, Any]]]:
    """List channels that wait for a decision."""
    return Answer(CHANNELS[:limit], page=Page(limit=limit, total=150, has_more=True))


@discord.tool(read_only=True)
def discord_read_channel(before: str | None = None) -> Answer[list[dict[str, Any]]]:
    """Read messages from a Discord channel."""
    shown = [each for each in MESSAGES if before is None or each["id"] < before]
    page = Page(has_more=False, before=shown[0]["id"], after=shown[-1]["id"])
    return Answer(shown, page=page)


@discord.tool(read_only=True)
def discord_get_user_info(user: str = "123456789") -> dict[str, Any]:
    """Show one user."""
    return {
        "id": user,
        "username": "user123",
        "discriminator": "0001",
        "avatar": "https://...",
    }


@discord.tool
def discord_send_message(channel: str = "123456789", text: str = "hi") -> Answer[dict[str, Any]]:
    """Send a message."""
    if channel == SILENT:
        raise Problem.authorization(
            "You do not have permission to send messages in this channel",
            code="PERMISSION_DENIED",
            summary="Failed to send message",
        )
    sent = {"messageId": "987654321", "channelId": channel, "timestamp": TIME}
    return Answer(sent, message="Message sent successfully")


@discord.tool
def discord_edit_message(message: str = "987654321") -> dict[str, Any]:
    """Edit a message."""
    return {"messageId": message, "editedAt": TIME}


@discord.tool
def discord_reply_message(message: str = "987654321") -> dict[str, Any]:
    """Reply to a message."""
    return {"messageId": "987654322", "repliedTo": message}


@discord.tool(destructive=True)
def discord_delete_message(message: str = "987654321") -> dict[str, Any]:
    """Delete a message."""
    return {"messageId": message, "deleted": True}


@discord.tool
def discord_download_attachments(names: list[str] | None = None) -> Answer[dict[str, Any]]:
    """Download attachments; names that begin with a dot cannot be saved."""
    named = ["a.png"] if names is None else names
    saved = [name for name in named if not name.startswith(".")]
    report = {"totalAttachments": len(named), "successfulDownloads": len(saved)}
    return Answer(report, partial=len(saved) < len(named))


@discord.tool
def discord_update_channel_filters() -> dict[str, Any]:
    """Change which channels are filtered."""
    return {"operation": "allow", "updatedFilters": 1}


@discord.tool(read_only=True)
def mcp_list_tools() -> list[dict[str, Any]]:
    """List tools."""
    described = {"discord_read_channel": "Read messages from a Discord channel..."}
    return [
        {"name": name, "description": words, "schema": {"type": "object"}}
        for name, words in described.items()
    ]
