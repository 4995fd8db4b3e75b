"""The demo: a SQLite shop, the sheet filler and a few functions as one server, with the web page.

`make demo` runs this. All files are in one folder, which the next run uses again.
"""

import argparse
import os
import shlex
import socket
import sys
from functools import partial
from pathlib import Path

import shop_data
from accord.cli.main import parser_of, run_parsed
from accord.cli.serve import run

TOOLS = Path(__file__).with_name("tools.py")
RUNS = "one MCP server with a shop database, functions in Python and a tool that fills character sheets"
TRY = "catalogue category=music --table"


def main() -> int:
    """Create the database if it does not exist, and serve everything until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python examples/demo", description=__doc__)
    parser.add_argument("--port", default="8000", help="port to serve on (default %(default)s)")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("build/demo"),
        help="folder of the database and the sheets (default %(default)s)",
    )
    options = parser.parse_args()
    shop = options.folder / "shop.db"
    shop_data.make(shop)
    words = [os.path.relpath(TOOLS), str(shop), "sheets", "--explore"]
    words += ["--out", str(options.folder / "sheets"), "--http", f"127.0.0.1:{options.port}"]
    words += ["--name", "demo", "--server-version", "1.0"]
    code = run_parsed(
        "serve", parser_of("serve").parse_args(words), partial(run, announce=announce)
    )
    if code == 2 and _needs_another(options.port):
        print("demo: use another port: make demo PORT=8001", file=sys.stderr)
    return code


def announce(url: str, name: str) -> None:
    """Print what runs, where, and what to try."""
    command = Path(sys.executable).with_name("accord")
    accord = os.path.relpath(command) if command.exists() else "accord"
    print(f"{name}: {RUNS}; Ctrl-C ends it", file=sys.stderr)
    print(f"{name}: MCP at {url} and a page at {url.removesuffix('mcp')}", file=sys.stderr)
    print(f"{name}: try {shlex.quote(accord)} call {url} {TRY}", file=sys.stderr)


def _needs_another(port: str) -> bool:
    """True if this is a valid port that is in use."""
    try:
        socket.create_server(("127.0.0.1", int(port))).close()
    except OSError:
        return True
    except (ValueError, OverflowError):
        return False
    return False


if __name__ == "__main__":
    sys.exit(main())
