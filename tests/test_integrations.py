"""Adapters import without their frameworks, and say what to install when they are used."""

import subprocess
import sys
from types import ModuleType

import pytest

from accord.integrations import fastmcp, sdk
from accord.integrations.langchain import AccordInterceptor

FRAMEWORKS = "langchain_core langchain_mcp_adapters fastmcp mcp pydantic".split()
ADAPTERS = ["langchain", "fastmcp", "sdk"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_imports_no_framework_until_it_is_used(adapter: str) -> None:
    code = f"import sys, accord.integrations.{adapter}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(FRAMEWORKS) & set(done.stdout.split())


def test_without_langchain_the_interceptor_says_what_to_install() -> None:
    with pytest.raises(ImportError, match="pip install langchain-mcp-adapters"):
        AccordInterceptor()


@pytest.mark.parametrize(("adapter", "package"), [(fastmcp, "fastmcp"), (sdk, "mcp")])
def test_without_its_framework_the_decorator_says_what_to_install(
    adapter: ModuleType, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.tools", None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        adapter.accord_tool(profile="envelope")
