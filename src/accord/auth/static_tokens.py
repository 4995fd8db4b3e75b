"""Tokens in a file, for small deployments: names and scopes, and digests in place of the tokens.

    [tokens.ci]
    sha256 = "…"
    scopes = ["shop:read"]

`accord token add` makes one. The file is read again when it changes.
"""

import logging
import os
import re
import secrets
import stat
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any, Final

import msgspec

from accord.auth.verifier import Unavailable
from accord.errors import ContractError
from accord.model.caller import Caller, TokenRequest, scopes_of

log: logging.Logger = logging.getLogger("accord.auth")

ISSUER: Final = "urn:accord:token-file"
"""The issuer of these tokens in `Caller`."""
_PREFIX: Final = "accord_"
_TOKEN_BYTES: Final = 32
_CHECK: Final = 1.0  # seconds between looks at the file
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    scopes: list[str] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: dict[str, _Entry] = {}


class StaticTokens:
    """Verifies the tokens of a file."""

    cache_seconds: float = 1.0
    issuers: tuple[str, ...] = ()

    def __init__(
        self,
        path: str | Path,
        *,
        audience: str | None = None,
        scopes: Collection[str] = (),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`audience` is the URL of this server, for its metadata."""
        self.audiences: tuple[()] | tuple[str] = () if audience is None else (audience,)
        self.scopes: tuple[str, ...] = scopes_of(scopes, "a verifier")
        self._path = Path(path)
        self._clock = clock
        self._version = _version(self._path)  # first: what is written meanwhile is read again
        self._callers: Mapping[str, Caller] | None = _callers_in(self._path)
        self._due = clock() + _CHECK

    async def verify(self, token: str, request: TokenRequest) -> Caller | None:
        """Return the caller of a token; None if the file does not have it."""
        now = self._clock()
        if now >= self._due:
            self._due = now + _CHECK
            self._read_again()
        if self._callers is None:
            raise Unavailable("the token file cannot be read", _CHECK)
        return self._callers.get(sha256(token.encode("utf-8", "replace")).hexdigest())

    def _read_again(self) -> None:
        """Read the file if it has changed; with one that is broken, no token can be verified."""
        version = _version(self._path)
        if version == self._version:
            return
        try:
            self._callers, self._version = _callers_in(self._path), version
        except ContractError as error:
            self._callers, self._version = None, version
            log.error("%s; no token is accepted until the file is repaired", error)  # noqa: TRY400


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _callers_in(path: Path) -> Mapping[str, Caller]:
    callers: dict[str, Caller] = {}
    for name, entry in _read(path).items():
        claims = MappingProxyType({"sub": name, "scope": " ".join(entry.scopes)})
        scopes = frozenset(scopes_of(entry.scopes, f"token {name!r}"))
        caller = Caller(issuer=ISSUER, subject=name, scopes=scopes, claims=claims)
        if not _DIGEST.fullmatch(entry.sha256) or entry.sha256 in callers:
            raise ContractError(f"the token file {path}: sha256 of {name!r} is not a digest")
        callers[entry.sha256] = caller
    return callers


def _read(path: Path) -> dict[str, _Entry]:
    return _entries(_text(path), path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ContractError(f"could not read the token file {path}: {error.strerror}") from error
    except ValueError as error:
        raise ContractError(f"the token file {path} is not valid: {error}") from error


def _entries(text: str, path: Path) -> dict[str, _Entry]:
    try:
        found: Any = tomllib.loads(text)
        return msgspec.convert(found, _File).tokens
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise ContractError(f"the token file {path} is not valid: {error}") from error


def add_token(path: Path, name: str, scopes: Collection[str]) -> str:
    """Add a token to a file, which is created if missing; return the token, which is not kept.

    One process at a time, so that none overwrites the token of another.
    """
    if not _NAME.fullmatch(name):
        raise ContractError("a token's name must be 1 to 64 letters, digits, _ or -")
    granted = scopes_of(scopes, f"token {name!r}")
    token = _PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
    listed = ", ".join(f'"{scope}"' for scope in granted)
    digest = sha256(token.encode()).hexdigest()
    entry = f'[tokens.{name}]\nsha256 = "{digest}"\nscopes = [{listed}]\n'
    path = path.resolve()  # a link stays one
    with _locked(path):
        before = _text(path).rstrip()
        if name in _entries(before, path):
            raise ContractError(f"{path} has a token {name!r} already; remove it first")
        text = f"{before}\n\n{entry}" if before else entry
        _entries(text, path)  # an inline table, for example, cannot be continued
        _write(path, text)
    return token


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a file, which is created if missing, until the end of the block."""
    try:
        number = _open_locked(path)
    except OSError as error:
        raise ContractError(f"could not write the token file {path}: {error.strerror}") from error
    try:
        yield
    finally:
        if number is not None:
            os.close(number)  # releases the lock


def _open_locked(path: Path) -> int | None:
    """Return the descriptor of a file that no other process has locked."""
    if sys.platform == "win32":  # an open file could not be replaced there
        path.touch()
        return None
    from fcntl import LOCK_EX, flock

    while True:
        number = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
        try:
            flock(number, LOCK_EX)
            if _is_open_at(number, path):  # it was not replaced meanwhile
                return number
        except BaseException:
            os.close(number)
            raise
        os.close(number)


def _is_open_at(number: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except FileNotFoundError:
        return False


def _write(path: Path, text: str) -> None:
    """Replace a file at once, so that no reader sees half of it; its mode and owner stay."""
    from tempfile import mkstemp

    try:
        before = path.stat()
        number, beside = mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(text)
            if sys.platform != "win32":
                os.chown(beside, before.st_uid, before.st_gid)
            Path(beside).chmod(stat.S_IMODE(before.st_mode))
            Path(beside).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(beside).unlink()
            raise
    except OSError as error:
        raise ContractError(f"could not write the token file {path}: {error.strerror}") from error
