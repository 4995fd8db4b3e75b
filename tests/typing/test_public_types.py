"""The types of the public interface are known to every type checker."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
OPENAI_AGENTS = sorted(Path(sys.prefix).glob("frameworks/openai-agents/lib/*/site-packages"))
"""The SDK of which `accord.integrations.openai_agents` has subclasses."""


@pytest.mark.slow
@pytest.mark.skipif(not (BIN / "pyright").exists(), reason="make .venv/.check installs pyright")
@pytest.mark.skipif(not OPENAI_AGENTS, reason="make frameworks installs the OpenAI Agents SDK")
def test_all_public_types_are_known(tmp_path: Path) -> None:
    done = subprocess.run(
        [BIN / "pyright", "--outputjson", "--ignoreexternal", "--verifytypes", "accord"],
        cwd=tmp_path,
        env=os.environ
        | {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "VIRTUAL_ENV": sys.prefix,
            "PYTHONPATH": str(OPENAI_AGENTS[0]),
        },
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)["typeCompleteness"]
    unknown = [
        symbol["name"]
        for symbol in report["symbols"]
        if symbol["isExported"] and (not symbol["isTypeKnown"] or symbol["isTypeAmbiguous"])
    ]
    assert unknown == []
    assert report["completenessScore"] == 1
