"""Runs the suites of frameworks, each in an environment of its own: they need different SDKs.

Two of the environments have servers of others, which tests/peers/test_foreign_servers.py starts.

`environments/NAME.txt` has the exact versions of one environment; its first line names what was
asked for. `make test-all` installs them into `.venv/frameworks/NAME`. A suite is a folder of
`suites/`. To run one by hand:

    make frameworks && .venv/frameworks/langchain/bin/python -m pytest -c tests/frameworks/suites/pytest.toml \
        tests/frameworks/suites/langchain
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doc_pages import PAGES, blocks

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
INSTALLED = Path(sys.prefix) / "frameworks"
SUITES = {
    "fastmcp-3": ["docs", "fastmcp_server", "reading_fastmcp", "sdk", "sdk_server"],
    "fastmcp-4": ["docs", "fastmcp_server", "reading_fastmcp", "sdk", "sdk_server"],
    "google-adk": ["docs", "sdk"],
    "langchain": ["docs", "langchain_agent", "reading_langchain", "sdk", "sdk_server"],
    "llama-index": ["docs", "sdk"],
    "mcp-server-sqlite": ["sdk"],
    "mcp-servers": ["sdk"],
    "openai-agents": ["docs", "openai-agents", "reading_openai_agents", "sdk"],
    "pydantic-ai": ["docs", "pydantic-ai", "reading_pydantic_ai", "sdk"],
    "smolagents": ["docs", "sdk"],
}
"""The suites of each environment; `sdk` runs wherever the official SDK is, `docs` where the docs have code for it."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("environment", SUITES)
def test_the_suites_of_a_framework_pass_in_its_environment(environment: str) -> None:
    suites = [str(HERE / "suites" / suite) for suite in SUITES[environment]]
    options = ["-m", "pytest", "-c", str(HERE / "suites" / "pytest.toml"), "--quiet"]
    done = subprocess.run(
        [INSTALLED / environment / "bin" / "python", *options, *suites],
        env=os.environ | {"ACCORD": str(Path(sys.prefix) / "bin" / "accord")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_environment_has_suites_and_names_versions_only() -> None:
    files = sorted((HERE / "environments").glob("*.txt"))
    assert [each.stem for each in files] == sorted(SUITES)
    for each in files:
        _heading, *lines = each.read_text().splitlines()
        assert all(line.count("==") == 1 and "/" not in line for line in lines), each


def test_code_in_the_docs_names_environments_that_run_it() -> None:
    named = {
        environment
        for page in PAGES
        for block in blocks(page.read_text())
        for environment in block.environments
    }
    assert named == {name for name, suites in SUITES.items() if "docs" in suites}
