"""Runs the official conformance suite against our server: `make conformance`.

All that is required of a server has to pass, in both eras; so has all of the last stable release,
and what is not required yet but already done. There is no list of expected failures. Options are
those of `accord serve`: `python -m tests.conformance --workers 2`.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
PEERS = Path(sys.prefix, "peers/node_modules")
SUITE = PEERS / "@modelcontextprotocol/conformance/dist/index.js"
STABLE = PEERS / "conformance-0.1.16/dist/index.js"
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
BEYOND = {
    "2025-11-25": {"json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"},
    "2026-07-28": {
        "json-schema-2020-12",
        "http-header-validation",
        "http-custom-header-server-validation",
    },
}
"""What has to pass although it is not required."""


class Scores(NamedTuple):
    """Which scenarios passed and failed, and which of them the revision does not require."""

    passed: set[str]
    failed: set[str]
    not_required: set[str]


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """The fixture server; gives its URL."""
    command = [str(BIN / "accord"), "serve", "server:server", "--http", "127.0.0.1:0", *options]
    with subprocess.Popen(command, cwd=HERE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        line = child.stderr.readline()
        found = re.search(r"MCP at (\S+)", line)
        try:
            if found is None:
                sys.exit(f"the server did not start:\n{line}{child.stderr.read()}")
            yield found[1]
        finally:
            child.terminate()
            child.communicate()


def run(suite: Path, url: str, *options: str) -> Scores:
    """One run of the suite, as it sums itself up."""
    command = [str(BIN / "node"), str(suite), "server", "--url", url, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    _, found, summary = done.stdout.partition("=== SUMMARY ===")
    if not found:
        sys.exit(f"the suite did not run:\n{done.stdout}{done.stderr}")
    scored, _, rest = summary.partition("Not scored")
    marks = {name: mark for mark, name in re.findall(r"^([✓✗]) ([\w-]+):", scored, re.MULTILINE)}
    passed = {name for name, mark in marks.items() if mark == "✓"}
    return Scores(passed, marks.keys() - passed, set(re.findall(r"[✓✗] ([\w-]+) \(", rest)))


def main(*options: str) -> int:
    """Run all of it; the last two lines say how much of what is required has passed."""
    broken: list[str] = []
    totals: list[str] = []
    with serving(*options) as url:
        stable = run(STABLE, url, "--suite", "all")
        print(f"0.1.16: {len(stable.passed)}/{len(stable.passed | stable.failed)}")
        broken += sorted(stable.failed)
        for revision, count in REQUIRED.items():
            passed, failed, not_required = run(SUITE, url, "--requirements", revision)
            required = (passed | failed) - not_required
            left_out = failed & not_required - BEYOND[revision]
            print(f"{revision}\n  passed  {', '.join(sorted(passed))}")
            print(f"  beyond  {', '.join(sorted(left_out)) or 'nothing'} (not required)")
            broken += sorted((required | BEYOND[revision]) - passed)
            if len(required) != count:
                broken.append(f"{len(required)} scenarios are required, and not {count}")
            totals.append(f"{revision}: {len(passed & required)}/{len(required)}")
    if broken:
        print(f"BROKEN  {', '.join(broken)}")
    print("\n".join(totals))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
