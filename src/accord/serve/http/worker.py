"""The side of a worker that its supervisor controls."""

import os
import signal
import socket
import threading
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from accord.child_process import encode_frame, end_with_parent, read_frames
from accord.serve import log_writer
from accord.serve.http.address import Address
from accord.serve.http.balance import ConnectionCounts
from accord.serve.http.siblings import Siblings
from accord.serve.http.supervisor import COUNTS, END_NOW, Ready, WorkerConfig

_LOCK: Final = "log.lock"
_DIGEST_BYTES: Final = 16


class Worker:
    """This process, as one of several workers of a port."""

    def __init__(self, control: int) -> None:
        """`control` is the descriptor of the socket to the supervisor."""
        self._control = socket.socket(fileno=control)
        self._frames = read_frames(control)
        self.config: WorkerConfig = msgspec.json.decode(next(self._frames), type=WorkerConfig)
        self.ends_at_once: bool = False
        """True if the supervisor wants calls in flight to be cancelled."""
        end_with_parent(self.config.parent)
        for descriptor in (control, self.config.listener):
            os.set_inheritable(descriptor, False)
        signal.signal(signal.SIGINT, lambda *_: None)  # it is for the supervisor
        log_writer.lock_with(Path(self.config.folder) / _LOCK)
        threading.Thread(target=self._obey, name="accord-worker", daemon=True).start()

    def listener(self) -> socket.socket:
        """Return the listening socket."""
        return socket.socket(fileno=self.config.listener)

    @property
    def address(self) -> Address:
        """The address of that socket."""
        return Address(self.config.host, self.config.port)

    def place(self) -> "WorkerPlace":
        """Return its place among the workers."""
        return WorkerPlace(self)

    def ready(self, name: str, key: bytes) -> None:
        """Tell the supervisor that the server of this name and key is served."""
        digest = blake2b(name.encode(), key=key, digest_size=_DIGEST_BYTES).hexdigest()
        self._control.sendall(encode_frame(msgspec.json.encode(Ready(name, digest))))

    def _obey(self) -> None:
        """End when the supervisor says so, by the signal that ends any server."""
        for message in self._frames:
            self.ends_at_once = message == END_NOW
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGKILL)  # the supervisor is gone


class WorkerPlace:
    """The place of a worker among those that serve one port."""

    def __init__(self, worker: Worker) -> None:
        config = worker.config
        self.listener: socket.socket = worker.listener()
        self.siblings: Siblings = Siblings(Path(config.folder), config.key)
        self._worker = worker
        self._count = 0
        self._counts = ConnectionCounts(Path(config.folder) / COUNTS, config.workers)

    @property
    def ends_at_once(self) -> bool:
        """True if calls in flight are to be cancelled: the supervisor has been told twice."""
        return self._worker.ends_at_once

    def set_count(self, count: int) -> None:
        """Set the number of open connections."""
        self._count = count
        self._counts.set(self._worker.config.slot, count)

    def has_more_connections(self) -> bool:
        """True if this worker has more connections than another."""
        return self._counts.has_more_than_others(self._worker.config.slot, self._count)
