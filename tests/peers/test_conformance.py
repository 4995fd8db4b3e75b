"""The official conformance suite, as `make conformance` runs it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("options", [[], ["--workers", "2"]], ids=["one process", "two workers"])
def test_all_that_is_required_of_a_server_passes_in_both_eras(options: list[str]) -> None:
    command = [sys.executable, "-m", "tests.conformance", "server", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "tasks: 44/44\n" in done.stdout, done.stdout + done.stderr
    assert done.stdout.endswith("2025-11-25: 30/30\n2026-07-28: 37/37\n"), done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.requirement("gateway.1.revisions")
@pytest.mark.timeout(300)
def test_all_that_is_required_of_a_server_passes_through_the_gateway() -> None:
    command = [sys.executable, "-m", "tests.conformance", "gateway"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    totals = "gateway 2025-11-25: 30/30\ngateway 2026-07-28: 37/37\n"
    assert done.stdout.endswith(totals), done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.timeout(300)
def test_all_that_is_required_of_a_client_passes_in_both_eras() -> None:
    command = [sys.executable, "-m", "tests.conformance", "client"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    totals = "client 2025-11-25: 18/18\nclient 2026-07-28: 32/32\n"
    assert done.stdout.endswith(totals), done.stdout + done.stderr
    assert done.returncode == 0
