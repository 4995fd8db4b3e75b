"""The demo: a SQLite shop, the sheet filler and a few functions as one server, with the web page.

`make demo` runs this. All files are in one folder, which the next run uses again.
"""

import argparse
import os
import shlex
import socket
import sys
from pathlib import Path

import shop_data
from accord.cli import main as accord

TOOLS = Path(__file__).with_name("tools.py")


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
    if shop_data.make(shop):
        print(f"demo: created {shop}", file=sys.stderr)
    words = ["serve", os.path.relpath(TOOLS), str(shop), "sheets", "--explore"]
    words += ["--out", str(options.folder / "sheets"), "--http", f"127.0.0.1:{options.port}"]
    words += ["--name", "demo", "--server-version", "1.0"]
    print(f"demo: accord {shlex.join(words)}", file=sys.stderr)
    code = accord(words)
    if code == 2 and _needs_another(options.port):
        print("demo: make demo PORT=8001", file=sys.stderr)
    return code


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
