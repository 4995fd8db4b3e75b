"""`python -m manual`: make the made parts of README and docs anew."""

import argparse
import sys
from pathlib import Path

from manual.pages import ROOT, outdated, write


def main() -> int:
    """Write what is not as it should be, and name it; with --check, exit code 1 if there is any."""
    parser = argparse.ArgumentParser(prog="python -m manual", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare, and write nothing")
    parser.add_argument("--folder", type=Path, default=ROOT, help="where README.md and docs are")
    options = parser.parse_args()
    if options.check:
        old = list(outdated(options.folder))
        for page in old:
            print(f"{page.relative_to(options.folder)} is out of date: make docs", file=sys.stderr)
        return 1 if old else 0
    for page in write(options.folder):
        print(f"made {page.relative_to(options.folder)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
