"""Runs the official conformance suite against our server and our client: `make conformance`.

All that is required of them has to pass, in both eras; so has all of the last stable release of a
server, all of the tasks extension, and what is not required yet but already done. There is no list of expected failures.
`python -m tests.conformance server --workers 2` runs one side, `replicas` two processes behind a
balancer; the options are those of
`accord serve`.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from balancer import Balancer  # noqa: E402 - as in the tests
from redis_server import RedisServer  # noqa: E402

ROOT = HERE.parents[1]
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
CLIENT_REQUIRED = {"2025-11-25": 18, "2026-07-28": 32}
CLIENT_BEYOND = {
    *("auth/client-credentials-basic", "auth/client-credentials-jwt"),
    "json-schema-2020-12-preservation",
}
LEGACY = ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"]
"""Scenarios that no set requires: signing in to servers of 2025-03-26."""

TASKS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)
"""The scenarios of the tasks extension; the suite skips one more, of notifications."""
TASK_CHECKS = 44


class Scores(NamedTuple):
    """Which scenarios passed and failed, and which of them the revision does not require."""

    passed: set[str]
    failed: set[str]
    not_required: set[str]


@contextmanager
def serving(*options: str, target: str = "server:server") -> Iterator[str]:
    """The fixture server, or the gateway in front of it; gives its URL."""
    command = [str(BIN / "accord"), "serve", target, "--http", "127.0.0.1:0", *options]
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


def run(suite: Path, *options: str) -> Scores:
    """One run of the suite, as it sums itself up."""
    done = suite_output(suite, *options)
    summary = re.split(r"=== (?:SUITE )?SUMMARY ===", done)[-1]
    if summary == done:
        sys.exit(f"the suite did not run:\n{done}")
    scored, _, rest = summary.partition("Not scored")
    marks = {name: mark for mark, name in re.findall(r"^([✓✗]) ([\w/-]+):", scored, re.MULTILINE)}
    passed = {name for name, mark in marks.items() if mark == "✓"}
    return Scores(passed, marks.keys() - passed, set(re.findall(r"[✓✗] ([\w/-]+) \(", rest)))


def suite_output(suite: Path, *options: str) -> str:
    """Return what one run of the suite prints."""
    command = [str(BIN / "node"), str(suite), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    return done.stdout + done.stderr


def main(side: str = "", *options: str) -> int:
    """Run one side, or both; the last lines say how much of what is required has passed."""
    broken: list[str] = []
    totals: list[str] = []
    if side in ("", "server"):
        run_server(broken, totals, *options)
    if side in ("", "gateway"):
        run_gateway(broken, totals, *options)
    if side in ("", "replicas") and shutil.which("redis-server"):
        run_replicas(broken, totals, *options)
    if side in ("", "client"):
        run_client(broken, totals)
    if broken:
        print(f"BROKEN  {', '.join(broken)}")
    print("\n".join(totals))
    return 1 if broken else 0


def run_client(broken: list[str], totals: list[str]) -> None:
    """Let the suite drive our client."""
    command = ["--command", f"{sys.executable} -m tests.conformance.client"]
    with TemporaryDirectory() as folder:
        for revision, count in CLIENT_REQUIRED.items():
            given = [*command, "-o", folder, "--requirements", revision]
            passed, failed, not_required = run(SUITE, "client", *given)
            required = (passed | failed) - not_required
            print(f"client {revision}\n  passed  {', '.join(sorted(passed))}")
            print(f"  beyond  {', '.join(sorted(failed & not_required))} (not required)")
            broken += sorted((required | CLIENT_BEYOND) - passed)
            if len(required) != count:
                broken.append(f"{len(required)} client scenarios are required, and not {count}")
            totals.append(f"client {revision}: {len(passed & required)}/{len(required)}")
        for scenario in LEGACY:
            given = [*command, "-o", folder, "--spec-version", "2025-03-26"]
            shown = suite_output(SUITE, "client", *given, "--scenario", scenario)
            if "OVERALL: PASSED" not in shown:
                broken.append(scenario)


def run_server(broken: list[str], totals: list[str], *options: str) -> None:
    """Let the suite call our server."""
    with serving(*options) as url:
        stable = run(STABLE, "server", "--url", url, "--suite", "all")
        print(f"0.1.16: {len(stable.passed)}/{len(stable.passed | stable.failed)}")
        broken += sorted(stable.failed)
        run_both(broken, totals, url)
        run_tasks(broken, url)


def run_replicas(broken: list[str], totals: list[str], *options: str) -> None:
    """Let the suite call two replicas behind a balancer that never sticks."""
    with RedisServer() as redis, TemporaryDirectory() as folder, ExitStack() as stack:
        shared = ["--store", redis.url, "--key-file", f"{folder}/key", *options]
        urls = [stack.enter_context(serving(*shared)) for _ in "ab"]
        ports = [int(url.rpartition(":")[2].partition("/")[0]) for url in urls]
        balancer = stack.enter_context(Balancer(ports))
        url = f"http://127.0.0.1:{balancer.port}/mcp"
        run_both(broken, totals, url, "replicas ")
        run_tasks(broken, url)


def run_both(broken: list[str], totals: list[str], url: str, label: str = "") -> None:
    """Let the suite call what is at a URL, in both eras."""
    for revision, count in REQUIRED.items():
        passed, failed, not_required = run(
            SUITE, "server", "--url", url, "--requirements", revision
        )
        required = (passed | failed) - not_required
        left_out = failed & not_required - BEYOND[revision]
        print(f"{label}{revision}\n  passed  {', '.join(sorted(passed))}")
        print(f"  beyond  {', '.join(sorted(left_out)) or 'nothing'} (not required)")
        broken += sorted((required | BEYOND[revision]) - passed)
        if len(required) != count:
            broken.append(f"{len(required)} scenarios are required, and not {count}")
        totals.append(f"{label}{revision}: {len(passed & required)}/{len(required)}")


def run_tasks(broken: list[str], url: str) -> None:
    """Let the suite use tasks of our server."""
    total = 0
    options = ["--spec-version", "2026-07-28", "--force", "--timeout", "60000"]
    for scenario in TASKS:
        shown = suite_output(SUITE, "server", "--url", url, "--scenario", scenario, *options)
        found = re.search(r"^Passed: (\d+)/(\d+), (\d+) failed", shown, re.MULTILINE)
        if found is None:
            sys.exit(f"{scenario} did not run:\n{shown}")
        total += int(found[1])
        if found[1] != found[2] or found[3] != "0":
            broken.append(scenario)
    print(f"tasks: {total}/{TASK_CHECKS}")
    if total != TASK_CHECKS:
        broken.append("tasks")


def run_gateway(broken: list[str], totals: list[str], *options: str) -> None:
    """Let the suite call the gateway in front of our server."""
    with serving(*options, target="gateway:server") as url:
        for revision, count in REQUIRED.items():
            passed, failed, not_required = run(
                SUITE, "server", "--url", url, "--requirements", revision
            )
            required = (passed | failed) - not_required
            broken += sorted(required - passed)
            if len(required) != count:
                broken.append(f"{len(required)} scenarios are required, and not {count}")
            totals.append(f"gateway {revision}: {len(passed & required)}/{len(required)}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
