"""Runs Python in a network of its own: `unshare … python loopback.py SCRIPT ARGUMENT...`."""

import fcntl
import os
import socket
import struct
import sys

_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def main() -> None:
    """Enable the loopback interface, the only one, and run the script."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP))
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])


if __name__ == "__main__":
    main()
