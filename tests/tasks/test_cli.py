"""`accord call` of a tool that is a task, and `accord task`."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest

from commands import ACCORD, ENVIRONMENT, Popen
from http_peer import HttpServer
from tasks.test_serve import begin, end_of, get, serving

pytest.importorskip("httpx2")


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with serving() as running:
        yield running


def accord(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [ACCORD, *words],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == code, done
    return done


def test_a_call_waits_for_its_task(server: HttpServer) -> None:
    done = accord("call", server.url, "report", '{"seconds": 0.2}')
    assert done.stdout == f"report of {server.process.pid}\n"
    assert done.stderr == ""
    done = accord("call", server.url, "report", '{"seconds": 0}', "--json")
    assert json.loads(done.stdout)["resultType"] == "complete"


def test_a_call_of_a_tool_that_requires_tasks_is_one(server: HttpServer) -> None:
    done = accord("call", server.url, "greet")
    assert done.stdout == "Hello you\n"
    assert "declined 'Your name?'" in done.stderr


def test_an_interrupted_call_leaves_its_task_and_says_how_to_come_back(server: HttpServer) -> None:
    words = [ACCORD, "call", server.url, "report", '{"seconds": 4}']
    pipe = subprocess.PIPE
    with Popen(words, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(2.5)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=10)
    found = re.fullmatch(r"the task goes on; to wait for it: accord task (\S+) (\S+)\n", said)
    assert found, said
    assert found[1] == server.url
    assert get(server, found[2])["status"] == "working"
    done = accord("task", found[1], found[2])
    assert done.stdout == f"report of {server.process.pid}\n"


def test_a_task_is_cancelled_by_its_id(server: HttpServer) -> None:
    task_id = begin(server, "report", seconds=60)
    done = accord("task", server.url, task_id, "--cancel")
    assert done.stdout == f"task {task_id}: cancelled\n"
    assert end_of(server, task_id)["status"] == "cancelled"
    done = accord("task", server.url, task_id, code=2)
    assert "was cancelled" in done.stderr


def test_an_unknown_task_is_one_line(server: HttpServer) -> None:
    done = accord("task", server.url, "unknown", code=2)
    assert "Unknown task" in done.stderr
    assert done.stderr.count("\n") == 1


def test_only_a_url_has_tasks_that_outlive_the_command() -> None:
    done = accord("task", "accord serve long_running:server", "x", code=2)
    assert "is not a URL" in done.stderr
