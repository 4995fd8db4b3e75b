"""`accord serve --reload`: starts the server again when its source changes, for development.

The supervisor of `--workers` does it. It holds the listening socket and the key, so that no client
is refused and sessions go on; it loads none of the source itself.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any, Final

import msgspec

from accord.cli import databases, targets
from accord.cli.targets import Target
from accord.errors import ContractError, relative_path
from accord.serve.http.supervisor import END, KILL_AFTER, Supervisor, WorkerProcess

_INTERVAL: Final = 0.3  # seconds between two looks at the files
_MAX_SHARE: Final = 0.1  # of the time, for looking at files
_MAX_FILES: Final = 10_000
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages"})
_ENVIRONMENT: Final = "pyvenv.cfg"  # a file in each virtual environment
_SOURCE: Final = ".py"

Stamp = tuple[int, int, int]
"""Time of the last change, size and number of a file."""


class Watcher:
    """Finds changes of the Python files in folders, of other files, and of saved queries."""

    def __init__(
        self, folders: Iterable[Path], files: Iterable[Path] = (), queries: Iterable[Path] = ()
    ) -> None:
        self.folders: list[Path] = _outermost(folders)
        self._queries = sorted(set(queries))
        self._files = sorted(set(files))
        self.is_complete: bool = True
        """False if there are too many files, so that some are not watched."""
        self._stamps = self._look()

    def changes(self) -> list[Path]:
        """Return the files that are new, changed or gone since the last time."""
        before, self._stamps = self._stamps, self._look()
        both = before.keys() | self._stamps.keys()
        return sorted(path for path in both if before.get(path) != self._stamps.get(path))

    def _look(self) -> dict[Path, Stamp]:
        found: dict[Path, Stamp] = {}
        for path in (*self._files, *chain.from_iterable(map(_query_files, self._queries))):
            stamp = _stamp(path)
            if stamp is not None:
                found[path] = stamp
        for folder in self.folders:
            for path, entry in _sources(folder):
                if len(found) >= _MAX_FILES:
                    self.is_complete = False
                    return found
                stamp = _stamp(entry)
                if stamp is not None:
                    found[path] = stamp
        return found


def _query_files(path: Path) -> list[Path]:
    """Return the files of saved queries at a path, which may be a folder."""
    from accord.sources.sql.query_files import query_files

    with suppress(OSError):
        if path.is_dir():
            return query_files(path)
    return [path]


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """Return folders without those that are inside another one."""
    distinct = sorted({folder.resolve() for folder in folders})
    return [
        each
        for each in distinct
        if not any(each != other and each.is_relative_to(other) for other in distinct)
    ]


def _sources(folder: Path) -> Iterator[tuple[Path, "os.DirEntry[str]"]]:
    """Yield the Python files of a folder and those below, except environments and hidden ones."""
    pending = [folder]
    while pending:
        at = pending.pop()
        try:
            entries = sorted(os.scandir(at), key=lambda entry: entry.name)
        except OSError:  # it is gone, or may not be read
            continue
        if at != folder and any(entry.name == _ENVIRONMENT for entry in entries):
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            if entry.name.endswith(_SOURCE):
                yield Path(entry.path), entry
            elif _is_folder(entry):
                pending.append(Path(entry.path))


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _stamp(file: "Path | os.DirEntry[str]") -> Stamp | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def watcher_of(given: Sequence[Target], options: argparse.Namespace) -> Watcher:
    """Return the watcher for the source of targets; raise if none has any."""
    files = [Path(word).absolute() for word in options.targets if targets.is_config(word)]
    folders = [folder for each in given for folder in _folders(each)]
    queries = [options.queries, *(each.database.get("queries") for each in given)]
    watched = [path.absolute() for path in queries if path is not None]
    if not files and not folders and not watched:
        raise ContractError(
            "--reload requires a target with source: a Python file, a module, accord.toml or"
            " --queries"
        )
    return Watcher(folders, files, watched)


def _folders(target: Target) -> Iterator[Path]:
    """Yield the folders that the source of a target is in."""
    text = target.target
    if targets.is_foreign(target):
        return
    if databases.is_database(text) or targets.is_sheets(text) or targets.is_reader(text):
        return
    location, _, name = text.partition(":")
    file = targets.python_file(location)
    if file is not None:
        yield file.absolute().parent
        return
    places = [Path.cwd()] if target.folder is None else [target.folder, Path.cwd()]
    module = (name if location == targets.DJANGO else location).partition(".")[0]
    found = PathFinder.find_spec(module, [*map(str, places), *sys.path])
    origin = None if found is None or found.origin is None else Path(found.origin).parent
    for place in places:
        if origin is None or origin.is_relative_to(place):
            yield place
            return
    assert origin is not None
    yield origin


class Reloader(Supervisor):
    """A supervisor that ends all workers when the source changes, and starts new ones."""

    def __init__(
        self,
        watcher: Watcher,
        command: Callable[[int], Sequence[str]],
        *arguments: Any,
        **settings: Any,
    ) -> None:
        super().__init__(lambda number: _without_cache(command(number)), *arguments, **settings)
        self._watcher = watcher
        self._changed: list[Path] = []
        self._next_look = monotonic() + _INTERVAL
        self._is_restarting = False
        if not watcher.is_complete:
            self._say(
                f"there are more than {_MAX_FILES:,} Python files in"
                f" {', '.join(map(str, watcher.folders))}; some are not watched"
            )

    def _is_over(self) -> bool:
        return self._code is not None and not self._workers

    def _timeout(self) -> float | None:
        usual = super()._timeout()
        if self._code is not None:
            return usual
        look = max(0.0, self._next_look - monotonic())
        return look if usual is None else min(usual, look)

    def _turn(self) -> None:
        super()._turn()
        if self._code is None and monotonic() >= self._next_look:
            self._look()

    def _look(self) -> None:
        """Look for changes; restart once files have not changed for one interval."""
        began = monotonic()
        changed = self._watcher.changes()
        ended = monotonic()
        self._next_look = ended + max(_INTERVAL, (ended - began) / _MAX_SHARE)
        if changed:
            self._changed = changed
        elif self._changed:
            self._restart(self._changed)
            self._changed = []

    def _restart(self, changed: Sequence[Path]) -> None:
        shown = relative_path(str(changed[0]))
        others = f" and {len(changed) - 1} more" if changed[1:] else ""
        have = "have" if others else "has"
        self._say(f"{shown}{others} {have} changed; the server starts again")
        if self._is_restarting:
            return
        self._digests.clear()
        self._ends, self._due, self._failures = [], [], 0
        self._is_complete = False
        self._config = msgspec.structs.replace(self._config, is_first=True)
        if not self._workers:
            self._start()
            return
        self._is_restarting = True
        for worker in self._workers.values():
            worker.tell(END)
        self._deadline = monotonic() + self._grace + KILL_AFTER

    def _replace(self, worker: WorkerProcess, code: int) -> None:
        """Start again once all workers have ended; wait for a change after a failed start."""
        if self._code is not None:
            return
        if self._is_restarting:
            if not self._workers:
                self._is_restarting, self._deadline = False, None
                self._start()
        elif not worker.is_ready:  # its own error is shown already
            self._say("waiting for a change of the source")
        else:
            super()._replace(worker, code)


def _without_cache(command: Sequence[str]) -> list[str]:
    """Return the command line of a Python that writes no bytecode.

    Bytecode is taken for current if the source has the same size and second of change.
    """
    program, *others = command
    return [program, "-B", *others]


def reloader(watcher: Watcher) -> Callable[..., Supervisor]:
    """Return the constructor of a supervisor that restarts on changes."""
    return lambda *arguments, **settings: Reloader(watcher, *arguments, **settings)
