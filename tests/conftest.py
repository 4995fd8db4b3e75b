"""For every test: how hypothesis runs, and one line at the end that says what was checked."""

import hypothesis
import pytest

import wire

hypothesis.settings.register_profile("accord", deadline=None)
hypothesis.settings.load_profile("accord")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(wire.summary())
