"""Without the extra an error names the install command; other targets do not load it."""

import os
import subprocess
import sys

from accord.sources import sheets

UNWATCHED = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}
REQUIRED = "the extra sheets is required for accord.sources.sheets: "
BLOCKED = "import sys; sys.modules['pikepdf'] = None\n"


def run(code: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=UNWATCHED)


def test_import_without_the_extra_names_the_install_command() -> None:
    done = run(BLOCKED + "import accord.sources.sheets")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {REQUIRED}")


def test_the_command_line_names_the_extra_in_one_line() -> None:
    for words in (["serve", "sheets"], ["sheet", "a.json"]):
        done = run(BLOCKED + f"from accord.cli import main; sys.exit(main({words!r}))")
        assert done.returncode == 2
        assert REQUIRED in done.stderr
        assert done.stderr.count("\n") == 1


def test_other_targets_do_not_load_it() -> None:
    code = "import accord.cli.serve, accord.cli.targets, sys; print('pikepdf' in sys.modules)"
    assert run(code).stdout == "False\n"


def test_all_is_sorted_and_exactly_what_is_exported() -> None:
    assert sheets.__all__ == sorted(sheets.__all__)
    assert all(hasattr(sheets, name) for name in sheets.__all__)
