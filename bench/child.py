"""A server in a child process: pipes, CPU time, memory."""

import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parent.parent
TIME_LIMIT = 60.0


class ChildError(Exception):
    """A server ended or hung while a reply was awaited."""


class Child:
    """A server process with pipes for stdin and stdout."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        keep_stderr: bool = True,
    ) -> None:
        self._stderr = tempfile.TemporaryFile() if keep_stderr else open(os.devnull, "r+b")  # noqa: PTH123, SIM115 - closed in __exit__
        self._buffer = b""
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
        )
        assert self._process.stdin
        assert self._process.stdout
        self._input = self._process.stdin.fileno()
        self._output = self._process.stdout.fileno()
        self._watchdog = threading.Timer(TIME_LIMIT, self._process.kill)
        self._watchdog.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._watchdog.cancel()
        self._process.stdout.close()
        self._stderr.close()

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._input, view) :]
        except BrokenPipeError:
            pass  # receive() reaches the end of stdout and reports it

    def request(self, message: bytes) -> bytes:
        self.send(message)
        return self.receive(1)[0]

    def receive(self, count: int) -> list[bytes]:
        chunks = [self._buffer]
        missing = count - self._buffer.count(b"\n")
        while missing > 0:
            chunk = os.read(self._output, 1 << 20)
            if not chunk:
                raise ChildError(self._failure(missing, count))
            chunks.append(chunk)
            missing -= chunk.count(b"\n")
        *lines, self._buffer = b"".join(chunks).split(b"\n", count)
        return lines

    def pipeline(self, requests: bytes, count: int) -> list[bytes]:
        """Write all requests in a thread while this one reads the replies."""
        writer = threading.Thread(target=self.send, args=(requests,), daemon=True)
        writer.start()
        replies = self.receive(count)
        writer.join()
        return replies

    def end_input(self) -> bytes:
        """Close stdin and return the remaining output, which should be empty."""
        assert self._process.stdin
        self._process.stdin.close()
        chunks = [self._buffer]
        while chunk := os.read(self._output, 1 << 20):
            chunks.append(chunk)
        return b"".join(chunks)

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu_seconds(self) -> float:
        """Return the user and system time of all threads so far."""
        self._wait_until_idle()
        # The process clock of another pid, as clock_getcpuclockid(3) makes it on Linux.
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def memory_bytes(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def _wait_until_idle(self) -> None:
        # The clock of a running thread is up to one scheduler tick old: the time of a thousand calls.
        deadline = time.perf_counter() + 0.25
        while time.perf_counter() < deadline and self._is_running():
            time.sleep(0.0005)

    def _is_running(self) -> bool:
        stats = Path(f"/proc/{self._process.pid}/task").glob("*/stat")
        try:
            return any(stat.read_text().rpartition(")")[2].split()[0] == "R" for stat in stats)
        except (FileNotFoundError, ProcessLookupError):
            return True  # a thread ended between glob and read_text

    def _failure(self, missing: int, count: int) -> str:
        status = self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "stderr is empty"
        return f"ended with status {status}, {missing} of {count} replies missing: {last}"


class HttpChild(Child):
    """A server on a free loopback port, which replaces `{port}` in its command."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], *, keep_stderr: bool = True
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        command = [part.replace("{port}", str(self.port)) for part in command]
        super().__init__(command, env, keep_stderr=keep_stderr)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        super().__exit__(kind, error, trace)

    def wait_until_listening(self) -> None:
        while self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except ConnectionRefusedError:
                time.sleep(0.01)
            else:
                return
        raise ChildError(self._failure(1, 1))
