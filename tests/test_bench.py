"""The benchmarks can be imported, and those of one process run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "code",
    [
        "import bench.__main__",
        "from bench.rendering import *; rendering_parts(measure_rendering(1))",
        "from bench.calls import *; calls_parts(measure_calls(1))",
        "from bench.models import *; models_parts(measure_models(1))",
        "from bench.sheets import *; measure(load(), fighter(), Path.cwd() / sys.argv[1], 1)",
    ],
    ids=["all", "rendering", "calls", "models", "sheets"],
)
def test_benchmarks_run(code: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
