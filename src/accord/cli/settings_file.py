"""Somebody's JSON file, changed in one place and otherwise left as it is."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Final

from accord.errors import ContractError

_INDENT: Final = re.compile(r"^( +|\t+)\S", re.M)


class SettingsFile:
    """A JSON object in a file that may not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str:
        """The text of it; nothing if there is no file."""
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ContractError(f"cannot read {self.path}: {reason}") from error

    def entries(self, member: str) -> dict[str, Any]:
        """What is in that member, by name."""
        return self._entries(self._parsed(self.read()), member)

    def _entries(self, settings: dict[str, Any], member: str) -> dict[str, Any]:
        entries = settings.get(member, {})
        if not isinstance(entries, dict):
            raise ContractError(f"{self.path}: {member!r} is no object; mend it first")
        return entries

    def changed(self, member: str, name: str, entry: Mapping[str, Any]) -> str:
        """The text with this entry in that member, and all the rest where it was."""
        text = self.read()
        settings = self._parsed(text)
        entries = self._entries(settings, member)
        if entries.get(name) == entry:
            return text
        found = {**settings, member: {**entries, name: entry}}
        indent = _INDENT.search(text)
        return json.dumps(found, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            found = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            raise ContractError(
                f"{self.path} is no plain JSON and is left alone ({error}); --print shows what to"
                " add to it"
            ) from error
        if not isinstance(found, dict):
            raise ContractError(f"{self.path} holds no JSON object and is left alone")
        return found

    def write(self, text: str) -> Path | None:
        """Replace the file as a whole, and say where the one before is kept, if there was one."""
        target = self.path.resolve()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            backup = _backup(target)
            number, beside = mkstemp(dir=target.parent, prefix=f".{target.name}.")
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(text)
            if backup is not None:
                shutil.copymode(target, beside)
            Path(beside).replace(target)
        except OSError as error:
            raise ContractError(f"cannot write {self.path}: {error.strerror}") from error
        return backup


def _backup(target: Path) -> Path | None:
    if not target.exists():
        return None
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    backup = target.with_name(f"{target.name}.{now}.bak")
    shutil.copy2(target, backup)
    return backup
