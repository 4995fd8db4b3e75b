"""How much of the public interface has types that every type checker knows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
LEAST = 0.955
"""Django REST framework has no types; the rest of what is left are attributes without annotation."""


@pytest.mark.slow
@pytest.mark.skipif(not (BIN / "pyright").exists(), reason="make .venv/.check installs pyright")
def test_the_public_types_that_are_known_do_not_become_fewer(tmp_path: Path) -> None:
    done = subprocess.run(
        [BIN / "pyright", "--outputjson", "--ignoreexternal", "--verifytypes", "accord"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "VIRTUAL_ENV": sys.prefix},
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout)["typeCompleteness"]["completenessScore"] >= LEAST
