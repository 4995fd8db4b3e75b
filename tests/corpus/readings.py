"""How every reply of the corpus reads: `make readings` shows what has changed, and writes it.

`readings/<server>.txt` has a paragraph for each reply: what was asked, how the reply begins, and the
reading, member by member. A value that is long is shown by its beginning, its length and a digest.
"""

import difflib
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from accord.reader import Reading, read

from .cases import CONVERSATIONS
from .written import DISCORD, SEEDS, Written

HERE = Path(__file__).parent
# What the reader gets wrong: the paragraph says what would be right, and was written by hand.
DEFECTS: dict[str, list[str]] = {}
LONGEST = 400
SHOWN = 160


def replies() -> dict[str, list[Written]]:
    """All replies, by the name of the file with their readings."""
    recorded = {server: list(_recorded(server)) for server in CONVERSATIONS}
    return {**recorded, "discord": DISCORD, "seeds": SEEDS}


def _recorded(server: str) -> Iterator[Written]:
    for line in (HERE / f"{server}.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        yield Written(record["case"], record.get("tool"), record.get("arguments"), record["reply"])


def expected(name: str) -> dict[str, str]:
    """The paragraphs of a file, by their cases."""
    paragraphs = _path(name).read_text(encoding="utf-8").strip().split("\n\n")
    return {each.partition("\n")[0].removeprefix("# "): each for each in paragraphs}


def paragraph(written: Written) -> str:
    """Return a reading as text for people."""
    reading = read(written.reply, written.tool, written.arguments)
    asked = f"{written.tool} {_json(written.arguments or {})}" if written.tool else "no tool call"
    lines = {
        "asked": asked,
        "reply": _shortened(_json(_bare(written.reply)), SHOWN),
        **_said(reading),
    }
    return "\n".join([f"# {written.case}", *(f"{name}: {value}" for name, value in lines.items())])


def _said(reading: Reading) -> Mapping[str, str]:
    response = {n: _shortened(_json(v), LONGEST) for n, v in reading.response.to_dict().items()}
    if isinstance(reading.response.data, list):
        response["data"] = f"{len(reading.response.data)} items {response['data']}"
    known = {"origin": reading.origin, "confidence": reading.confidence}
    findings = {"findings": _json(list(reading.findings))} if reading.findings else {}
    return {**response, **known, **findings}


def _bare(reply: Any) -> Any:
    return reply.get("result", reply.get("error")) if "jsonrpc" in reply else reply


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[:SHOWN]}… ({len(text):,} characters, sha256 {digest})"


def _path(name: str) -> Path:
    return HERE / "readings" / f"{name}.txt"


def main() -> int:
    """Show what reads otherwise than it is written down, and write that down."""
    changed = 0
    for name, all_written in replies().items():
        path = _path(name)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        kept = {case: expected(name)[case] for case in DEFECTS.get(name, ())}
        after = "\n\n".join(kept.get(each.case) or paragraph(each) for each in all_written) + "\n"
        if before != after:
            changed += 1
            label = str(path.relative_to(HERE))
            old, new = (text.splitlines(keepends=True) for text in (before, after))
            sys.stdout.writelines(difflib.unified_diff(old, new, label, label))
            path.write_text(after, encoding="utf-8")
    print(f"{changed} files changed; look through the difference before you keep it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
