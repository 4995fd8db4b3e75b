"""Names of upstream tools and prompts: bare where unique, else with the name of their server."""

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

MAX_NAME: Final = 64
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
        for candidate in self._candidates(server, own, prefix):
            if self._owners.get(candidate, key) == key and not is_taken(candidate):
                self._names[key] = candidate
                self._owners[candidate] = key
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

    def forget(self, server: str) -> None:
        """Free the names of a server that is not configured any more."""
        for key in [each for each in self._names if each[0] == server]:
            del self._owners[self._names.pop(key)]
