"""The table of what the models of other clients see, from tests/frameworks/clients/clients.json."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "tests/frameworks/clients/clients.json"
DEFAULT = "plain"
_SEEN_WHOLE = "yes"


def generate() -> str:
    """Return a Markdown table with a row for each client."""
    recorded: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    columns = list(next(iter(recorded.values()))["profiles"][DEFAULT])
    rows = [
        ["client", "version", "MCP SDK", "revision", *columns, "sees more with"],
        ["---"] * (len(columns) + 5),
        *(_row(name, run) for name, run in recorded.items()),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(name: str, run: dict[str, Any]) -> list[str]:
    versions = dict(run["versions"])
    sdk = versions.get("mcp", "its own")
    version = next(iter(versions.values()))
    return [name, version, sdk, run["revision"], *run["profiles"][DEFAULT].values(), _better(run)]


def _better(run: dict[str, Any]) -> str:
    """Return the profiles with which the model sees more than with the default."""
    whole = {name: _count(verdicts) for name, verdicts in run["profiles"].items()}
    better = [f"`{name}`" for name, count in whole.items() if count > whole[DEFAULT]]
    return ", ".join(better) or "–"


def _count(verdicts: dict[str, str]) -> int:
    return Counter(verdicts.values())[_SEEN_WHOLE]
