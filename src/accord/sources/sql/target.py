"""What people call a database: a file, `sqlite:///…`, or `postgresql://…`."""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from accord.errors import ContractError

_POSTGRES: Final = re.compile(r"postgres(?:ql)?(?:\+psycopg)?://", re.I)
_SQLITE: Final = re.compile(r"sqlite:", re.I)
_HEADER: Final = b"SQLite format 3\0"


class Target(NamedTuple):
    """A database that can be served."""

    url: str
    """The absolute path of a file, or `postgresql://…`."""

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return not self.url.startswith("postgresql:")


def find(text: str, *, create: bool = False) -> Target:
    """The database that is meant, which has to be there unless it may be made."""
    if _POSTGRES.match(text):
        return Target("postgresql://" + text.partition("://")[2])
    path = Path(os.path.abspath(_path(text)))  # noqa: PTH100 - links stay as they are
    if create:
        _create(path)
    _require_database(path)
    return Target(str(path))


def _path(text: str) -> str:
    if not _SQLITE.match(text):
        return text
    scheme, _, path = text.partition("://")
    if scheme.lower() != "sqlite" or not path.startswith("/") or len(path) == 1 or "?" in path:
        raise ContractError(
            f"{text} names no file: write sqlite:///shop.db, or sqlite:////path/to/shop.db"
        )
    from urllib.parse import unquote  # a file's plain name needs none of it

    return unquote(path[1:])


def _create(path: Path) -> None:
    try:
        path.open("xb").close()  # a file of no bytes is an empty database
    except FileExistsError:
        pass
    except OSError as error:
        raise ContractError(f"cannot create {path}: {error.strerror}") from error


def _require_database(path: Path) -> None:
    """Raise if a file is not there, or is something else."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_HEADER))
    except FileNotFoundError as error:
        raise ContractError(
            f"there is no database {path}; `accord serve … --create` makes an empty one there"
        ) from error
    except OSError as error:
        raise ContractError(f"cannot read {path}: {error.strerror}") from error
    if head and head != _HEADER:
        raise ContractError(f"{path} is no SQLite database: it begins otherwise, or is encrypted")
