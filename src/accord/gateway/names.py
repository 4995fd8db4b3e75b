"""Names of upstream tools and prompts: bare where unique, else with the name of their server."""

import logging
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

log: logging.Logger = logging.getLogger("accord")

MAX_NAME: Final = 64
_MOST_KEPT: Final = 100_000
"""Names that are kept of features that are not listed any more."""
_UNUSABLE: Final = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS: Final = 8
_TAIL: Final = 15


def valid_name(name: str, max_length: int = MAX_NAME) -> str:
    """Return a name that every client accepts: letters, digits, `_` and `-`, of limited length.

    A longer one keeps its head and its tail, with a hash of the whole between them.
    """
    found = _UNUSABLE.sub("_", name) or "_"
    return found if len(found) <= max_length else _hashed(name, found, max_length)


def _hashed(name: str, found: str, max_length: int) -> str:
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=_DIGITS // 2).hexdigest()
    head = max_length - _DIGITS - _TAIL - 2
    return f"{found[:head]}_{digest}_{found[-_TAIL:]}"


class Names:
    """Names of the features of one kind that are served, by server and own name.

    A name stays as long as its server is configured. Asked in the order of the configuration, the
    names are the same in every process.
    """

    def __init__(self, max_length: int = MAX_NAME) -> None:
        self._max_length = max_length
        self._names: dict[tuple[str, str], str] = {}
        self._owners: dict[str, tuple[str, str]] = {}

    def name_of(
        self,
        server: str,
        own: str,
        prefix: str | None,
        is_taken: Callable[[str], bool] = lambda _: False,
    ) -> str:
        """Return the name of a feature of a server; a new one is the first that is free.

        `is_taken` are the names of features that do not come from an upstream.
        """
        key = (server, own)
        found = self._names.get(key)
        if found is not None and not is_taken(found):
            return found
        for number, candidate in enumerate(self._candidates(server, own, prefix)):
            if self._owners.get(candidate, key) == key and not is_taken(candidate):
                self._names[key] = candidate
                self._owners[candidate] = key
                if number:
                    log.warning("%.200r of server %s is served as %s", own, server, candidate)
                return candidate
        raise AssertionError("a hash of the whole name is free")

    def _candidates(self, server: str, own: str, prefix: str | None) -> list[str]:
        full = f"{server}_{own}"
        bare = own if prefix is None else prefix + own
        first = valid_name(bare, self._max_length)
        second = valid_name(full if prefix is None else f"{server}_{bare}", self._max_length)
        usable = _UNUSABLE.sub("_", full)
        hashed = [
            _hashed(f"{full}\0{number}", usable.ljust(self._max_length, "_"), self._max_length)
            for number in range(100)
        ]
        return [first, second, *hashed]

    def owner_of(self, name: str) -> tuple[str, str] | None:
        """Return the server and own name of a feature."""
        return self._owners.get(name)

    def given(self) -> list[tuple[str, str, str]]:
        """Return all names: server, own name and name."""
        return [(server, own, name) for (server, own), name in self._names.items()]

    def restore(self, given: Iterable[tuple[str, str, str]]) -> None:
        """Use names that were given in another process, where there are none yet."""
        for server, own, name in given:
            is_valid = valid_name(name, self._max_length) == name
            if is_valid and (server, own) not in self._names and name not in self._owners:
                self._names[server, own] = name
                self._owners[name] = (server, own)

    @property
    def are_too_many(self) -> bool:
        """True if there are so many that those not listed any more have to be dropped."""
        return len(self._names) > _MOST_KEPT

    def drop_unlisted(self, listed: Collection[tuple[str, str]]) -> None:
        """Free the names of features that are not listed any more."""
        for key in [each for each in self._names if each not in listed]:
            del self._owners[self._names.pop(key)]

    def forget(self, server: str) -> None:
        """Free the names of a server that is not configured any more."""
        for key in [each for each in self._names if each[0] == server]:
            del self._owners[self._names.pop(key)]


class _Kept(msgspec.Struct):
    """The content of a NameFile."""

    prefixes: dict[str, str | None] = {}
    """The servers, each with its prefix: names with another one are not used."""
    tools: list[tuple[str, str, str]] = []
    prompts: list[tuple[str, str, str]] = []


class NameFile:
    """Keeps names in a file: they are the same after a restart, and in each process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def merged(
        self, tools: Names, prompts: Names, prefixes: Mapping[str, str | None]
    ) -> Iterator[None]:
        """Restore the names of the file; keep those that are given meanwhile.

        One process at a time does so. Without a folder to write to, names are as in a new file.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            log.warning("the names of tools are not kept: %s", error.strerror)
            yield
            return
        try:
            _lock(lock)
            before = self._read()
            same = {
                name for name, each in prefixes.items() if before.prefixes.get(name, "") == each
            }
            tools.restore(each for each in before.tools if each[0] in same)
            prompts.restore(each for each in before.prompts if each[0] in same)
            yield
            after = _Kept(dict(prefixes), tools.given(), prompts.given())
            if after != before:
                self._write(after)
        finally:
            os.close(lock)

    def _read(self) -> _Kept:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return _Kept()
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("%s is not used: %.200s", self._path, error)
            return _Kept()

    def _write(self, kept: _Kept) -> None:
        part = self._path.with_suffix(f".{os.getpid()}")
        try:
            part.write_bytes(msgspec.json.encode(kept))
            part.replace(self._path)
        except (OSError, UnicodeEncodeError) as error:
            log.warning("the names of tools are not kept: %s", error)


def _lock(descriptor: int) -> None:
    """Wait for the lock of an open file; it ends with the file."""
    try:
        import fcntl
    except ImportError:  # Windows: the last process to write wins
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
