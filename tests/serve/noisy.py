"""A server that writes to standard output, and reads standard input, wherever it can."""

import ctypes
import os
import subprocess
import sys
import threading

from accord import Server

server = Server("noisy", version="1.0")


@server.tool
async def quiet() -> str:
    return "quiet"


@server.tool
async def print_it() -> None:
    print("NOISE")


@server.tool
def print_it_in_a_thread() -> None:
    print("NOISE")


@server.tool
async def print_and_flush_it() -> None:
    print("NOISE", flush=True)


@server.tool
async def write_to_the_first_stdout() -> None:
    assert sys.__stdout__ is not None
    sys.__stdout__.write("NOISE\n")


@server.tool
async def write_to_a_stdout_that_was_replaced() -> None:
    first, sys.stdout = sys.stdout, sys.stderr
    first.write("NOISE\n")


@server.tool
async def write_to_the_descriptor() -> None:
    os.write(1, b"NOISE\n")


@server.tool
async def print_from_c() -> None:
    ctypes.CDLL(None).printf(b"NOISE\n")


@server.tool
def start_a_chatty_child() -> None:
    subprocess.run(["echo", "NOISE"], check=True)


@server.tool
def start_a_chatty_shell() -> None:
    os.system("echo NOISE")


@server.tool
def fork_a_chatty_child() -> None:
    child = os.fork()
    if not child:
        os.write(1, b"NOISE\n")
        os._exit(0)
    os.waitpid(child, 0)


@server.tool
async def print_when_python_ends() -> None:
    """From a thread that outlives the main one."""

    def wait_and_print() -> None:
        threading.main_thread().join()
        print("NOISE", flush=True)

    threading.Thread(target=wait_and_print).start()


@server.tool
async def close_stdout() -> None:
    sys.stdout.close()


@server.tool
async def close_stdin() -> None:
    sys.stdin.close()


@server.tool
async def close_the_descriptors() -> None:
    os.close(0)
    os.close(1)


@server.tool
async def replace_the_descriptors() -> None:
    with open(os.devnull, "r+") as other:  # noqa: ASYNC230, PTH123
        os.dup2(other.fileno(), 0)
        os.dup2(other.fileno(), 1)


@server.tool
def ask_a_person() -> str:
    try:
        return input("NOISE, your name? ")
    except EOFError:
        return "nobody"


@server.tool
def read_stdin() -> str:
    return sys.stdin.read() or "nobody"


@server.tool
def read_the_descriptor() -> str:
    return os.read(0, 100).decode() or "nobody"


@server.tool
def start_a_curious_child() -> str:
    return subprocess.run(["cat"], capture_output=True, check=True, text=True).stdout or "nobody"
