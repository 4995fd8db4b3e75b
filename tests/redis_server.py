"""A Redis server of the tests' own, on a free port; nothing is kept when it ends."""

import shutil
import socket
import subprocess
from collections import Counter
from contextlib import suppress
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Final, Self

import pytest

from processes import free_port

_SLOTS: Final = 16_384
_COMMAND: Final = next(filter(None, map(shutil.which, ("redis-server", "valkey-server"))), None)
needs_redis: Final = pytest.mark.skipif(_COMMAND is None, reason="redis-server is not installed")


class RedisServer:
    """Runs redis-server; a context manager. It can stop and start again, empty."""

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = TemporaryDirectory(prefix="accord-redis-")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """The process, to send it signals."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it answers."""
        assert _COMMAND is not None
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        words += ["--dir", self._folder.name]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", _COMMAND, *words, *self._options],
            stdout=subprocess.DEVNULL,
        )
        end = monotonic() + 10
        while not self._answers():
            assert monotonic() < end, "redis-server does not answer"
            sleep(0.02)

    def stop(self) -> None:
        """End it, without saving."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def option(self, name: str) -> str:
        """The value of an option."""
        return self._options[self._options.index(name) + 1]

    def command(self, *words: str) -> bytes:
        """The raw reply to a command that has a short one."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
            connection.sendall(f"*{len(words)}\r\n{''.join(parts)}".encode())
            return connection.recv(1 << 16)

    def calls(self) -> dict[str, int]:
        """How often each command was called, by INFO commandstats; without INFO itself."""
        found = {}
        for line in self.command("INFO", "commandstats").decode().splitlines():
            if line.startswith("cmdstat_"):
                name, _, figures = line.removeprefix("cmdstat_").partition(":calls=")
                found[name] = int(figures.partition(",")[0])
        return {
            name: each for name, each in found.items() if name not in ("info", "config|resetstat")
        }

    def _answers(self) -> bool:
        with suppress(OSError):
            return self.command("PING").startswith(b"+PONG")
        return False


class RedisCluster:
    """Runs a cluster of three nodes, each with a third of the slots; a context manager."""

    def __init__(self) -> None:
        words = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
        self.nodes = [RedisServer(*words, "--cluster-port", str(free_port())) for _ in range(3)]
        self.url = self.nodes[0].url

    def __enter__(self) -> Self:
        for each in self.nodes:
            each.start()
        self._join()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.nodes:
            each.__exit__()

    def calls(self) -> dict[str, int]:
        """How often each command was called, at all nodes together."""
        return dict(sum((Counter(each.calls()) for each in self.nodes), Counter[str]()))

    def _join(self) -> None:
        """Give each node its slots, and make the nodes known to the first one."""
        for number, node in enumerate(self.nodes):
            first, last = _SLOTS * number // 3, _SLOTS * (number + 1) // 3 - 1
            node.command("CLUSTER", "ADDSLOTSRANGE", str(first), str(last))
            node.command("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            if number:
                ports = str(node.port), node.option("--cluster-port")
                self.nodes[0].command("CLUSTER", "MEET", "127.0.0.1", *ports)
        self.wait()

    def wait(self) -> None:
        """Wait until every node knows all others, and serves its slots."""
        end = monotonic() + 20
        while not all(map(_is_complete, self.nodes)):
            assert monotonic() < end, "the cluster is not complete"
            sleep(0.05)


def _is_complete(node: RedisServer) -> bool:
    info = node.command("CLUSTER", "INFO")
    return b"cluster_state:ok" in info and b"cluster_known_nodes:3" in info
