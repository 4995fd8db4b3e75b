"""Runs nginx on loopback, with a configuration of a guide or an example."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

NGINX: Final = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
needs_nginx: Final = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
_CONF: Final = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors; master_process off;
events {{ worker_connections 2048; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {part}
}}
"""


def configure(folder: Path, part: str, here: Mapping[str, str]) -> None:
    """Write a configuration for this machine: texts are replaced that are for another one."""
    for written, replacement in here.items():
        assert written in part, f"{written!r} is not in the configuration"
        part = part.replace(written, replacement)
    (folder / "conf").write_text(_CONF.format(folder=folder, part=part))


def check(folder: Path) -> str:
    """Return what `nginx -t` says of a configuration that is wrong; empty if it is right."""
    assert NGINX is not None
    command = [NGINX, "-t", "-q", "-p", str(folder), "-c", "conf", "-e", "stderr"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stderr


@contextmanager
def running(folder: Path, port: int) -> Iterator[None]:
    """Run nginx with a configuration that was written; wait until it listens on a port."""
    assert NGINX is not None
    process = subprocess.Popen([NGINX, "-p", folder, "-c", "conf", "-e", str(folder / "errors")])
    try:
        until = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert time.monotonic() < until, (folder / "errors").read_text()
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()
