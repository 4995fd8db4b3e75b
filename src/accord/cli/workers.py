"""`accord serve --workers N`: the supervisor of N worker processes on one port."""

import argparse
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
from typing import Final

from accord.cli.options import key_from
from accord.errors import ContractError
from accord.serve.http.address import Address, listening
from accord.serve.http.settings import Settings, hosts_of
from accord.serve.http.supervisor import Supervisor, WorkerConfig

_INSTRUMENTATION: Final = "opentelemetry.instrumentation.auto_instrumentation"
_PREFIX: Final = "accord-workers-"


def supervise(
    options: argparse.Namespace,
    announce: Callable[[str, str], None],
    supervisor: Callable[..., Supervisor] = Supervisor,
) -> int:
    """Serve with workers until interrupted; return the exit code.

    `announce` is called with the URL and the name of the server once all workers serve.
    """
    if sys.platform == "win32":
        raise ContractError("--workers and --reload require Linux or macOS; leave them out")
    _instrument_workers()
    key = bytes(key_from(options) or os.urandom(32))  # older ones are in the options of workers
    address = Address.parse(options.http)
    settings = Settings(allow_hosts=tuple(options.allow_host), public_url=options.public_url)
    with listening(address, hosts_of(settings)) as (listener, where):
        _remove_folders()
        folder = mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")  # mode 0700
        try:
            config = WorkerConfig(
                parent=os.getpid(),
                listener=listener.fileno(),
                host=where.host,
                port=where.port,
                key=key,
                page_token=secrets.token_urlsafe(24),
                folder=folder,
                workers=options.workers,
                slot=0,
                is_first=True,
            )
            return supervisor(
                lambda descriptor: _command(descriptor, options.argv),
                options.workers,
                config,
                grace=options.grace,
                on_end=listener.close,
                ready=lambda name: announce(url_of(where, options) + settings.path, name),
                say=lambda line: print(f"accord serve: {line}", file=sys.stderr),
            ).run()
        finally:
            rmtree(folder, ignore_errors=True)


def _instrument_workers() -> None:
    """Let workers export spans too, if `opentelemetry-instrument` has started this process.

    It keeps itself from child processes, which are those that serve here.
    """
    module = sys.modules.get(_INSTRUMENTATION)
    if module is not None and module.__file__ is not None:
        before = os.environ.get("PYTHONPATH")
        folders = [str(Path(module.__file__).parent), *([] if before is None else [before])]
        os.environ["PYTHONPATH"] = os.pathsep.join(folders)


def url_of(where: Address, options: argparse.Namespace) -> str:
    """Return the URL of an address for a client on this machine."""
    return where.url if options.tls_cert is None else where.url.replace("http:", "https:", 1)


def _remove_folders() -> None:
    """Remove the folders of supervisors that were killed."""
    for folder in Path(gettempdir()).glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        try:
            if pid.isascii() and pid.isdigit():
                os.kill(int(pid), 0)
        except ProcessLookupError:
            rmtree(folder, ignore_errors=True)
        except OSError:  # another user's
            continue


def _command(descriptor: int, arguments: list[str]) -> list[str]:
    """Return the command line of a worker: a new Python with the flags of this one."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing
    words = [str(descriptor), *arguments]
    return [sys.executable, *flags, "-P", "-m", "accord.cli.worker", *words]
