"""Keeps sign-ins: in the keyring of the system where there is one, else in a file of the user.

The file lists all sign-ins; an entry that is in the keyring says only that. It has mode 0600 in a
folder of mode 0700, and is replaced as a whole. A file that cannot be read is never overwritten.
"""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final, Protocol, TypeVar

import msgspec

from accord.auth.sign_in.grant import Grant, Registration
from accord.errors import SignInError

log: logging.Logger = logging.getLogger("accord")

_FILE: Final = "sign-ins.json"
_VERSION: Final = 1
_SERVICE: Final = "accord"
_KEYRING: Final = "keyring"
_LOCK_TIMEOUT: Final = 30.0  # seconds for another process to renew a token
_LOCK_INTERVAL: Final = 0.05

Value = TypeVar("Value", Grant, Registration)


class Store(Protocol):
    """Where sign-ins are kept, by server, and registrations of this client, by issuer."""

    async def grant(self, server: str) -> Grant | None:
        """Return the sign-in at a server."""

    async def keep(self, grant: Grant) -> None:
        """Keep a sign-in in the place of an earlier one."""

    async def forget(self, server: str) -> None:
        """Delete the sign-in at a server."""

    async def registration(self, issuer: str) -> Registration | None:
        """Return this client as an issuer knows it."""

    async def keep_registration(self, registration: Registration) -> None:
        """Keep a registration in the place of an earlier one."""

    async def forget_registration(self, issuer: str) -> None:
        """Delete the registration at an issuer."""

    def lock(self, server: str) -> AbstractAsyncContextManager[None]:
        """Return a context manager that only one process at a time can be in, for each server."""


class MemoryStore:
    """Keeps sign-ins for the time of the process."""

    def __init__(self) -> None:
        self._grants: dict[str, Grant] = {}
        self._registrations: dict[str, Registration] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def grant(self, server: str) -> Grant | None:
        """Return the sign-in at a server."""
        return self._grants.get(server)

    async def keep(self, grant: Grant) -> None:
        """Keep a sign-in in the place of an earlier one."""
        self._grants[grant.server] = grant

    async def forget(self, server: str) -> None:
        """Delete the sign-in at a server."""
        self._grants.pop(server, None)

    async def registration(self, issuer: str) -> Registration | None:
        """Return this client as an issuer knows it."""
        return self._registrations.get(issuer)

    async def keep_registration(self, registration: Registration) -> None:
        """Keep a registration in the place of an earlier one."""
        self._registrations[registration.issuer] = registration

    async def forget_registration(self, issuer: str) -> None:
        """Delete the registration at an issuer."""
        self._registrations.pop(issuer, None)

    def lock(self, server: str) -> AbstractAsyncContextManager[None]:
        """Return a lock of this process."""
        return self._locks.setdefault(server, asyncio.Lock())


class _File(msgspec.Struct):
    """The file: each entry is a value, or says that it is in the keyring."""

    version: int = _VERSION
    servers: dict[str, Any] = {}
    clients: dict[str, Any] = {}


class UserStore:
    """Keeps sign-ins of the user, for all processes: in the keyring, or in a file."""

    def __init__(self, folder: Path | None = None, *, uses_keyring: bool = True) -> None:
        self.folder: Path = state_folder() if folder is None else folder
        self.file: Path = self.folder / _FILE
        self._uses_keyring = uses_keyring

    async def grant(self, server: str) -> Grant | None:
        """Return the sign-in at a server."""
        return await asyncio.to_thread(self._get, "servers", server, Grant)

    async def keep(self, grant: Grant) -> None:
        """Keep a sign-in in the place of an earlier one."""
        await asyncio.to_thread(self._put, "servers", grant.server, grant)

    async def forget(self, server: str) -> None:
        """Delete the sign-in at a server."""
        await asyncio.to_thread(self._delete, "servers", server)

    async def registration(self, issuer: str) -> Registration | None:
        """Return this client as an issuer knows it."""
        return await asyncio.to_thread(self._get, "clients", issuer, Registration)

    async def keep_registration(self, registration: Registration) -> None:
        """Keep a registration in the place of an earlier one."""
        await asyncio.to_thread(self._put, "clients", registration.issuer, registration)

    async def forget_registration(self, issuer: str) -> None:
        """Delete the registration at an issuer."""
        await asyncio.to_thread(self._delete, "clients", issuer)

    def servers(self) -> list[str]:
        """Return the servers with a sign-in."""
        return sorted(self._read().servers)

    def place(self, server: str) -> str:
        """Return where the sign-in at a server is kept, for a message."""
        in_keyring = self._read().servers.get(server) == _KEYRING
        return "the keyring" if in_keyring else str(self.file)

    @asynccontextmanager
    async def lock(self, server: str) -> AsyncIterator[None]:
        """Let one process at a time in, for each server."""
        from hashlib import sha256

        until = monotonic() + _LOCK_TIMEOUT
        name = f"renew-{sha256(server.encode()).hexdigest()[:16]}.lock"
        with self._opened_lock(name) as lock:
            while not lock():
                if monotonic() > until:
                    raise SignInError("another process has been renewing this sign-in too long")
                await asyncio.sleep(_LOCK_INTERVAL)
            yield

    # Values

    def _get(self, group: str, key: str, kind: type[Value]) -> Value | None:
        entry = getattr(self._read(), group).get(key)
        if entry is None:
            return None
        if entry == _KEYRING:
            secret = self._keyring_call(
                "read", lambda it: it.get_password(_SERVICE, _name(group, key))
            )
            if secret is None:  # it was deleted there
                return None
            return _value(secret, kind, f"the keyring entry of {key}")
        return _value(msgspec.json.encode(entry), kind, f"the entry of {key} in {self.file}")

    def _put(self, group: str, key: str, value: Grant | Registration) -> None:
        entry: Any = msgspec.to_builtins(value)
        if self._store_secret(_name(group, key), msgspec.json.encode(value).decode()):
            entry = _KEYRING
        with self._changing() as file:
            getattr(file, group)[key] = entry

    def _delete(self, group: str, key: str) -> None:
        entry = getattr(self._read(), group).get(key)
        if entry is None:
            return
        if entry == _KEYRING:  # first: a secret that is not listed would stay for ever
            self._keyring_call("delete", lambda it: it.delete_password(_SERVICE, _name(group, key)))
        with self._changing() as file:
            getattr(file, group).pop(key, None)

    # The keyring

    def _store_secret(self, name: str, secret: str) -> bool:
        """Keep a secret in the keyring; return False if there is none, or it cannot be used."""
        keyring = _keyring() if self._uses_keyring else None
        if keyring is None:
            return False
        try:
            keyring.set_password(_SERVICE, name, secret)
        except Exception as error:  # noqa: BLE001 - the backends raise errors of their own
            log.warning("the keyring cannot be used (%s); using a file", type(error).__name__)
            return False
        return True

    def _keyring_call(self, action: str, call: Callable[[Any], Any]) -> Any:
        keyring = _keyring()
        if keyring is None:
            raise SignInError("the sign-in is in a keyring, which is not available here")
        try:
            return call(keyring)
        except Exception as error:
            if type(error).__name__ == "PasswordDeleteError":  # it was deleted by hand
                return None
            name = type(error).__name__
            raise SignInError(f"could not {action} the entry in the keyring: {name}") from error

    # The file

    def _read(self) -> _File:
        try:
            content = self.file.read_bytes()
        except FileNotFoundError:
            return _File()
        except OSError as error:
            raise SignInError(f"could not read {self.file}: {error.strerror}") from error
        try:
            found = msgspec.json.decode(content, type=_File)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise SignInError(
                f"{self.file} is damaged ({_position(error)}); repair it, or delete it and sign in"
                " again"
            ) from None
        if found.version != _VERSION:
            raise SignInError(f"{self.file} is of another version of accord; update this one")
        return found

    @contextmanager
    def _changing(self) -> Iterator[_File]:
        """Read the file, and replace it with what has become of it; one process at a time."""
        until = monotonic() + _LOCK_TIMEOUT
        with self._opened_lock("sign-ins.lock") as lock:
            while not lock():
                if monotonic() > until:
                    raise SignInError(f"another process has kept {self.file} locked too long")
                _wait()
            file = self._read()
            yield file
            self._replace(msgspec.json.format(msgspec.json.encode(file), indent=2))

    def _replace(self, content: bytes) -> None:
        from tempfile import mkstemp

        try:
            number, beside = mkstemp(dir=self.folder, prefix=f".{_FILE}.")  # mode 0600
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                Path(beside).replace(self.file)
            except BaseException:
                with suppress(OSError):
                    Path(beside).unlink()
                raise
        except OSError as error:
            raise SignInError(f"could not write {self.file}: {error.strerror}") from error

    @contextmanager
    def _opened_lock(self, name: str) -> Iterator[Callable[[], bool]]:
        """Open a lock file; yield a function that returns True once the lock is taken."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            number = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise SignInError(f"could not use {self.folder}: {error.strerror}") from error
        try:
            yield lambda: _take(number)
        finally:
            os.close(number)  # releases the lock


def state_folder() -> Path:
    """Return the folder for what a user's programs remember: `accord` below XDG_STATE_HOME."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    if given.is_absolute():  # others are to be ignored
        return given / "accord"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/accord"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "accord"
    return Path.home() / ".local/state/accord"


def _take(number: int) -> bool:
    """Take the lock of an open file if no other process has it; it ends with the file."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        else:
            from fcntl import LOCK_EX, LOCK_NB, flock

            flock(number, LOCK_EX | LOCK_NB)
    except OSError:
        return False
    return True


def _wait() -> None:
    from time import sleep

    sleep(_LOCK_INTERVAL)


def _keyring() -> Any:
    """Return the keyring of the system, or None if no backend can keep secrets."""
    try:
        import keyring
        from keyring.backends import chainer, fail, null
    except ImportError:
        return None
    try:
        found = keyring.get_keyring()
    except Exception as error:  # noqa: BLE001 - it is configured with a backend that is missing
        log.warning("the keyring cannot be used (%s); using a file", type(error).__name__)
        return None
    if isinstance(found, fail.Keyring | null.Keyring):
        return None
    return None if isinstance(found, chainer.ChainerBackend) and not found.backends else found


def _name(group: str, key: str) -> str:
    return f"{group} {key}"


def _value(content: str | bytes, kind: type[Value], what: str) -> Value:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise SignInError(f"{what} is damaged; sign out and in again") from None


def _position(error: Exception) -> str:
    """Return where JSON is wrong, without quoting it."""
    text = str(error)
    return text if "byte" in text and '"' not in text else "not the JSON that it should be"
