"""How the tests start processes: none outlives its test, and each hears Ctrl-C."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import ACCORD, Child, Popen, run, start

TESTS = Path(__file__).parent
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def test_a_process_ends_when_its_test_raises() -> None:
    with pytest.raises(ZeroDivisionError), Popen(SLEEP) as child:
        raise ZeroDivisionError
    assert child.returncode == -9


def test_no_test_waits_for_a_process_that_does_not_end() -> None:
    waiting = re.compile(r"subprocess\.Popen\([^\n]*(\n[^\n]+)*?\) as ")
    files = [file for file in TESTS.rglob("test_*.py") if file != Path(__file__)]
    assert [file.name for file in files if waiting.search(file.read_text())] == []


@pytest.mark.slow
def test_a_child_hears_ctrl_c_where_the_suite_was_started_without_it() -> None:
    test = TESTS / "cli/test_call.py::test_ctrl_c_ends_a_call_at_once_and_without_a_traceback"
    command = f"trap '' INT; exec {sys.executable} -m pytest -q -p no:cacheprovider {test}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_warm_process_forks_one_that_can_be_killed() -> None:
    pipe = subprocess.PIPE
    child = start([ACCORD, "read", "-", "--lines"], stdin=pipe, stdout=pipe)
    assert isinstance(child, Child)
    with child.stdin, child.stdout:
        child.stdin.write(b"[1]\n")
        child.stdin.flush()
        assert child.stdout.readline().startswith(b"{")
        assert child.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0)
        child.kill()
        assert child.wait() == child.returncode == -9


def test_what_is_late_is_killed() -> None:
    assert run(SLEEP, timeout=0.1).code == -9


@pytest.mark.parametrize("variable", ["PYTHONUTF8", "LC_ALL", "COVERAGE_CORE"])
def test_what_depends_on_the_start_of_python_has_a_python_of_its_own(variable: str) -> None:
    child = start([ACCORD, "--version"], env={variable: "1"}, stdout=subprocess.DEVNULL)
    assert isinstance(child, subprocess.Popen)
    assert child.wait(30) == 0
