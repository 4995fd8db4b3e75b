"""Adapters import without their frameworks, and say what to install when they are used."""

import subprocess
import sys

import pytest

from accord.integrations.langchain import AccordInterceptor

FRAMEWORKS = "langchain_core langchain_mcp_adapters fastmcp mcp pydantic".split()
ADAPTERS = ["langchain"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_imports_no_framework_until_it_is_used(adapter: str) -> None:
    code = f"import sys, accord.integrations.{adapter}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(FRAMEWORKS) & set(done.stdout.split())


def test_without_langchain_the_interceptor_says_what_to_install() -> None:
    with pytest.raises(ImportError, match="pip install langchain-mcp-adapters"):
        AccordInterceptor()
