"""How the CPU time of something grows with its text: once and twice as long."""

import gc
import math
import re
import sys
import time
from collections.abc import Callable
from typing import Any

MOST = 2.5
"""Times the CPU time for twice the length: linear is 2, quadratic is 4."""
TOO_LONG = 0.1
"""Seconds that are enough to believe a growth without a larger text."""
REFERENCE = 0.005
"""Seconds of CPU time that `_reference_work` takes on an idle machine."""
_LINE = re.compile(r"\s*[A-Za-z]\w*:")
LOOKS = 10
"""Tries at a growth that seems too fast: another process may have had the caches."""

TOKENS = (
    # characters
    *(" ", "\t", "\n", "\r\n", "\r", "\x0b", "\u00a0", "\u200b", "\u2028", "\ufeff", "\0"),
    *("a", "A", "1", "0", "_", "é", "ß", "中", "한", "🎉", "e\u0301", "\ud800", "❌", "✅", "•"),
    *("'", '"', "`", "(", ")", "[", "]", "{", "}", "<", ">", "()", "[]", "{}", "((", "''"),
    *(",", ".", ":", ";", "!", "?", "-", "=", "+", "*", "#", "|", "/", "\\", "~", "&", "@", "%", "$"),
    *("│", "├─", "─", "═", "…", "—", "”", "/*", "*/", "--", "**", "__", "::", "://", "\\'", '\\"'),
    # words
    *("Found ", "found ", "showing ", "total ", "results ", "page ", "page 1 ", "Found 2 "),
    *("Showing 1 of ", "error: ", "Error ", "failed ", "not found ", "no ", "0 ", "has been "),
    *("success: 0 ", "failed: 1 ", "0/1 ", "0 of 1 ", "created ", "no results ", "without "),
    *("the end. ", "Abc. ", "Done! A ", "list of ", "select a ", "insert into ", "commit abc1 "),
    *("no encontrado ", "не найдено ", "未找到", "没有", "1 to 2 of ", "1 of ", "line 1 ", "a.b "),
    # parts of lines
    *("a,", "a, ", "1,", "a: ", "a:", "a=", "a=b ", "a='b' ", "a/", "a/b ", "a|", "a | ", "a\t"),
    *("(a)", "(a) ", "[a] ", "[1] ", "[a]:", "**a** ", "`a` ", "'a', ", '"a", ', "<a>", "<a/>"),
    *("</a>", "<a></a>", "<!a>", '{"a":', '{"a": 1}', "[1,", "{'a': 1}, ", "f(", "f(1), ", "a_", "A_"),
    *("a-", "a.", "a ", "A ", "1 ", "1.", "1a", "a1", "1-", "1:", "a  ", "1  ", "-a", "--a", "::a", "|-"),
    *("|--", "| ", "-|", "+-", "- ", "* ", "> ", "# ", "= ", "== ", "=a", "...", "... truncated", "\\n"),
    # lines
    *("a\n", "1\n", "a: b\n", "A: b\n", "a:\n", "A: b\n\n", "- a: b\n", "| a | b |\n", "|---|---|\n"),
    *("- x\n", "* x\n", "1. x\n", "1) x\n", "[1] x\n", "# h\n", "## h\n\n", "```\n", "```json\n", "---\n"),
    *("=====\n", "--- ---\n", "a,b\n", "a\tb\n", "a  b\n", "a|b\n", " a\n", "  - a\n", "a\n\n", "A\n===\n"),
    *("{\n", "}\n", "}\n{", "[\n", "]\n", "]\r\n", "{}\n", '{"a": 1}\n', "<a>\n", "<json>\n", "</a>\n", "/a/b\n"),
    *("├── a\n", "│ a │\n", "→ a\n", "[FILE] a\n", "abc1234 x\n", "a[1]:\n", "a[1]{b}: 1\n", "  1,2\n", "Error: x\n"),
    *("No results found.\n", "Found 1 thing\n", "Total: 1\n", "Page 1 of 2\n", "\n \n", " \n", ":\n", ">\n", "=\n"),
)  # fmt: skip
"""What texts are made of: characters, words, parts of lines and lines."""


def cpu(act: Callable[[str], Any], text: str, times: int = 1) -> float:
    """Seconds of CPU time that a text takes at best.

    Without the cost of measuring coverage, and of garbage collection in the heap of all tests.
    """
    taken = []
    tracer, was_enabled = sys.gettrace(), gc.isenabled()
    sys.settrace(None)
    gc.disable()
    try:
        for _ in range(times):
            begun = time.thread_time()
            act(text)
            taken.append(time.thread_time() - begun)
    finally:
        sys.settrace(tracer)
        if was_enabled:
            gc.enable()
    return min(taken)


def slowness() -> float:
    """Times as long as on an idle machine that a fixed piece of work takes now; at least 1.

    Limits in seconds are for such a machine: one that is shared may be three times as slow.
    """
    return max(1.0, cpu(_reference_work, "a: b\n" * 20_000, 3) / REFERENCE)


def _reference_work(text: str) -> int:
    return sum(bool(_LINE.match(line.strip())) for line in text.splitlines())


def growth(act: Callable[[str], Any], head: str, token: str, tail: str, size: int) -> float:
    """Times the CPU time for twice the length, at best."""
    short, long = (f"{head}{token * (n // len(token))}{tail}" for n in (size // 2, size))
    found = math.inf
    for look in range(LOOKS):
        taken = cpu(act, long, 2)
        found = min(found, taken / max(cpu(act, short, 2), 1e-6))
        if found <= MOST or (look and taken > TOO_LONG):
            break
    return found


def grows(
    act: Callable[[str], Any], head: str, token: str, tail: str, size: int, floor: float
) -> str:
    """Return a message if the CPU time of a run of a token grows faster than its length.

    `floor` is the CPU time in seconds below which growth is not looked at. What is slow shows at a
    fraction of the size; patterns with bounded repeats may seem to grow up to their bound alone.
    """
    for part in (16, 4, 1):
        text = f"{head}{token * (size // part // len(token))}{tail}"
        least = floor if part == 1 else TOO_LONG
        # The first call may be the one that has patterns compiled.
        if cpu(act, text) < least or (taken := cpu(act, text)) < least:
            continue
        found = growth(act, head, token, tail, size // part)
        if found > MOST:
            return f"{head!r} + {token!r} * n + {tail!r}: {found:.1f} times, {taken * 1000:.0f} ms"
    return ""
