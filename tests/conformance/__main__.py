"""Runs the official conformance suite against our server: `make conformance`.

It prints what passes and what is left, and fails if a scenario of DONE does not pass.
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
SUITE = Path(sys.prefix, "peers/node_modules/@modelcontextprotocol/conformance/dist/index.js")
TOOLS = {
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
}
DONE = {
    "2025-11-25": TOOLS | {"server-initialize", "ping", "server-session-lifecycle"},
    "2026-07-28": TOOLS | {"server-stateless", "http-header-validation"},
}


class Scores(NamedTuple):
    """Which scenarios passed and failed, and which of them the revision does not require."""

    passed: set[str]
    failed: set[str]
    not_required: set[str]


@contextmanager
def serving() -> Iterator[str]:
    """The fixture server; gives its URL."""
    command = [str(BIN / "accord"), "serve", "server:server", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=HERE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        line = child.stderr.readline()
        try:
            yield line.rpartition(" ")[2].strip()
        finally:
            child.terminate()
            child.communicate()


def run(url: str, revision: str) -> Scores:
    """One run of the suite, as it sums itself up."""
    command = [str(BIN / "node"), str(SUITE), "server", "--url", url, "--requirements", revision]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    _, found, summary = done.stdout.partition("=== SUMMARY ===")
    if not found:
        sys.exit(f"the suite did not run:\n{done.stdout}{done.stderr}")
    scored, _, rest = summary.partition("Not scored")
    marks = {name: mark for mark, name in re.findall(r"^([✓✗]) ([\w-]+):", scored, re.MULTILINE)}
    passed = {name for name, mark in marks.items() if mark == "✓"}
    return Scores(passed, marks.keys() - passed, set(re.findall(r"[✓✗] ([\w-]+) \(", rest)))


def main() -> int:
    broken = False
    totals = []
    with serving() as url:
        for revision, must_pass in DONE.items():
            passed, failed, not_required = run(url, revision)
            left = failed - not_required
            required = (passed | failed) - not_required
            print(f"{revision}\n  passed  {', '.join(sorted(passed))}")
            print(f"  left    {', '.join(sorted(left)) or 'nothing'}")
            print(
                f"  beyond  {', '.join(sorted(failed & not_required)) or 'nothing'} (not required)"
            )
            lost = must_pass - passed
            if lost:
                print(f"  BROKEN  {', '.join(sorted(lost))}")
                broken = True
            totals.append(f"{revision}: {len(passed & required)}/{len(required)}")
    print("\n".join(totals))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
