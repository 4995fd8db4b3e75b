"""`accord completion`: the candidates for a line, in each installed shell."""

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from accord.cli.completion import candidates
from accord.cli.main import VERBS
from cli.command import (
    ACCORD,
    ENVIRONMENT,
    EXAMPLES,
    accord,
    assert_one_line_of_misuse,
    write,
)
from commands import Popen

PATH = {"PATH": f"{Path(ACCORD).parent}:{ENVIRONMENT['PATH']}"}
LINES: dict[str, list[str]] = {
    "accord ": [*VERBS, "--help", "--version"],
    "accord s": ["serve", "schema", "sheet"],
    "accord --v": ["--version"],
    "accord dance ": [],
    "accord serve ": [],
    "accord serve shop --pro": ["--profile"],
    "accord serve shop --profile ": ["plain", "envelope", "bare", "prose", "generic"],
    "accord serve shop --profile e": ["envelope"],
    "accord serve shop --http ": [],
    "accord serve shop --no-page --cont": ["--contract"],
    "accord call ": [],
    "accord call shop:server ": ["add", "orders"],
    "accord call shop:server o": ["orders"],
    "accord call --profile bare shop:server o": ["orders"],
    "accord call shop:server add ": [],
    "accord call 'shop:server' --revision 2026": ["2026-07-28"],
    "accord call 'sh no-such-server' ": [],
    "accord call http://127.0.0.1:1/mcp ": [],
    "accord call no_such_module ": [],
    "accord call 'shop:server": [],
    "accord schema g": ["generic", "gateway"],
    "accord schema e": ["envelope"],
    "accord completion ": ["bash", "zsh", "fish"],
    "accord": [*VERBS, "--help", "--version"],
    "": [*VERBS, "--help", "--version"],
}


@pytest.mark.parametrize("line", LINES)
def test_what_may_come_next(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    assert list(candidates(line)) == LINES[line]


def test_a_target_that_prints_or_breaks_completes_nothing_wrong(tmp_path: Path) -> None:
    loud = "print('hello')\nfrom accord import Server\nserver = Server('loud')\n"
    folder = write(tmp_path, loud=loud, broken="raise SystemExit(3)\n")
    for target in ("loud", "broken"):
        done = accord("completion", "candidates", f"accord call {target} ", cwd=folder)
        assert (done.code, done.out) == (0, "")


def test_an_unknown_shell_is_an_error_that_lists_the_shells_only() -> None:
    done = accord("completion", "tcsh")
    assert_one_line_of_misuse(done, "tcsh", "bash", "zsh", "fish")
    assert "candidates" not in done.err


def test_bash_completes() -> None:
    script = """
    source <(accord completion bash)
    COMP_LINE='accord call shop:server o' COMP_POINT=25
    COMP_WORDS=(accord call shop : server o) COMP_CWORD=5
    _accord; echo "${COMPREPLY[@]}"
    COMP_LINE='accord serve shop --profile ' COMP_POINT=28
    COMP_WORDS=(accord serve shop --profile '') COMP_CWORD=4
    _accord; echo "${COMPREPLY[@]}"
    complete -p accord
    """
    done = subprocess.run(
        ["bash", "-c", script], cwd=EXAMPLES, env=ENVIRONMENT | PATH, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "orders",
        "plain envelope bare prose generic",
        "complete -o default -F _accord accord",
    ]


def test_fish_completes() -> None:
    if shutil.which("fish") is None:
        pytest.skip("there is no fish here: apt-get install fish")
    script = 'accord completion fish | source; complete -C "accord call shop:server o"'
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=EXAMPLES,
        env=ENVIRONMENT | PATH,
        capture_output=True,
        text=True,
    )
    assert "orders" in done.stdout.split(), done.stderr


def test_zsh_completes(tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("there is no zsh here: apt-get install zsh")
    master, slave = pty.openpty()
    env = ENVIRONMENT | PATH | {"ZDOTDIR": str(tmp_path), "TERM": "xterm", "PS1": "ready> "}
    (tmp_path / ".zshrc").write_text(
        "autoload -Uz compinit; compinit -u -D; source <(accord completion zsh)\n"
    )
    with Popen(
        ["zsh", "-i"], cwd=EXAMPLES, env=env, stdin=slave, stdout=slave, stderr=slave
    ) as shell:
        os.close(slave)
        _await(master, b"ready> ")
        os.write(master, b"accord call shop:server o\t")
        shown = _await(master, b"orders")
        os.write(master, b"\x15exit\n")
        shell.wait(30)
    os.close(master)
    assert b"orders" in shown


def _await(master: int, words: bytes, seconds: float = 40) -> bytes:
    """Return the text of a terminal up to these words."""
    shown, end = b"", time.monotonic() + seconds
    while words not in shown and (left := end - time.monotonic()) > 0:
        if select.select([master], [], [], left)[0]:
            shown += os.read(master, 65_536)
    return shown
