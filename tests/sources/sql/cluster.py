"""Starts a PostgreSQL server for the tests, and removes it at the end."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from processes import free_port

OWNER = "postgres"  # it refuses to be run by root
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def programs() -> Path | None:
    """The folder with initdb and pg_ctl, of the newest version that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return None if initdb is None else Path(initdb).parent


def _version(program: Path) -> int:
    return int("".join(filter(str.isdigit, program.parts[-3])) or 0)


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Run a cluster; yields the URL of a database in it without its name."""
    place = programs()
    assert place is not None
    data, log = folder / "data", folder / "log"
    _hand_over(folder)
    port = free_port()
    settings = {
        **FAST,
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": str(folder),
        "max_connections": "40",
    }
    options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
    run = [str(place / "initdb"), "-D", str(data), "-U", OWNER, "-A", "trust", "-E", "UTF8"]
    _run(*run, "--no-sync", "--no-locale")
    _run(str(place / "pg_ctl"), "-D", str(data), "-l", str(log), "-w", "-o", options, "start")
    try:
        yield f"postgresql://{OWNER}@127.0.0.1:{port}"
    finally:
        _run(str(place / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that the owner of the cluster can reach, with a short path for its socket."""
    path = Path(tempfile.mkdtemp(prefix="accord-pg-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def _hand_over(path: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(path, OWNER)


def _run(*command: str) -> None:
    as_owner = ["runuser", "-u", OWNER, "--"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_owner, *command], capture_output=True, text=True, timeout=50, cwd="/"
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
