"""For every test: signals, how hypothesis runs, and one line at the end that says what was checked.

Tests run in several processes (pytest-xdist), which report to the one that started them.
"""

import os
import signal
import tempfile
from collections.abc import Generator
from typing import Any

import pytest

# The sign-ins of whoever runs the tests are left alone; `commands` passes this on.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
os.environ.setdefault("XDG_STATE_HOME", tempfile.mkdtemp(prefix="accord-state-"))

import laws
import wire

# Where Ctrl-C is ignored (`nohup make test &`), a child would ignore it too: a handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)

laws.register()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports cross from process to process as UTF-8, whatever a test has logged."""
    report = yield
    report.sections = [
        (title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections
    ]
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["wire"] = dict(wire.COUNTS)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    wire.COUNTS.update(getattr(node, "workeroutput", {}).get("wire", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(wire.summary())
