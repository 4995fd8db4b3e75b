"""Regenerate the generated parts of README and docs."""

import argparse
import sys
from pathlib import Path

from tools.docgen.pages import ROOT, outdated, write


def main() -> int:
    """Write outdated pages and print their names; with --check, exit with 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tools.docgen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; write nothing")
    parser.add_argument("--folder", type=Path, default=ROOT, help="folder of README.md and docs/")
    options = parser.parse_args()
    if options.check:
        pages = list(outdated(options.folder))
        for page in pages:
            name = page.relative_to(options.folder)
            print(f"{name} is out of date; run make docs", file=sys.stderr)
        return 1 if pages else 0
    for page in write(options.folder):
        print(f"wrote {page.relative_to(options.folder)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
