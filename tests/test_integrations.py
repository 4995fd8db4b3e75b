"""Adapters import without their frameworks, and say what to install when they are used."""

import subprocess
import sys
from inspect import signature
from types import ModuleType
from typing import Any

import pytest

from accord import Answer, ContractError, Page, Problem, read
from accord.integrations import fastmcp, openai_agents, sdk
from accord.integrations.langchain import AccordInterceptor
from accord.integrations.pydantic_ai import read_tool_calls

FRAMEWORKS = "langchain_core langchain_mcp_adapters fastmcp mcp pydantic pydantic_ai agents".split()
ADAPTERS = ["langchain", "fastmcp", "sdk", "pydantic_ai", "openai_agents"]


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


def test_without_pydantic_ai_the_hook_says_what_to_install() -> None:
    with pytest.raises(ImportError, match=r"pip install 'pydantic-ai-slim\[mcp\]'"):
        read_tool_calls()


@pytest.mark.parametrize("name", ["AccordMCPServerStdio", "AccordMCPServerStreamableHttp"])
def test_without_the_agents_sdk_its_classes_say_what_to_install(name: str) -> None:
    with pytest.raises(ImportError, match="pip install openai-agents"):
        getattr(openai_agents, name)


def test_an_adapter_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'AccordMCPServerSse'"):
        _ = openai_agents.AccordMCPServerSse  # type: ignore[attr-defined]


# The decorators, with the versions of the main environment

PROFILES = ["plain", "envelope", "bare", "prose", "generic"]
each_adapter = pytest.mark.parametrize("adapter", [fastmcp, sdk], ids=["fastmcp", "sdk"])


def orders(limit: int = 2) -> Answer[list[int]]:
    """List orders."""
    if limit < 1:
        raise Problem.validation("limit must be above 0", remediation="use 2")
    return Answer([7, 8, 9][:limit], page=Page(total=3, limit=limit))


@each_adapter
@pytest.mark.parametrize("profile", PROFILES)
def test_a_wrapped_function_answers_in_the_profile(adapter: ModuleType, profile: str) -> None:
    tool = adapter.accord_tool(profile=profile)(orders)
    found = read(tool(limit=1), "orders")
    assert (found.value, found.page) == ([7], Page(total=3, limit=1))
    failed = read(tool(limit=0), "orders")
    assert failed.is_failure
    assert failed.response.error is not None
    assert failed.response.error.message == "limit must be above 0"
    assert "use 2" in str(failed.response.error.details)


@each_adapter
def test_a_wrapped_function_keeps_its_name_docstring_and_parameters(adapter: ModuleType) -> None:
    tool = adapter.accord_tool(orders)
    assert (tool.__name__, tool.__doc__) == ("orders", "List orders.")
    assert signature(tool).parameters == signature(orders).parameters
    assert signature(tool).return_annotation != signature(orders).return_annotation


@each_adapter
def test_another_exception_is_raised(adapter: ModuleType) -> None:
    @adapter.accord_tool
    def broken() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()


@each_adapter
def test_a_group_of_several_exceptions_is_raised(adapter: ModuleType) -> None:
    @adapter.accord_tool
    def broken() -> int:
        raise ExceptionGroup("two", [Problem.internal("one"), ZeroDivisionError()])

    with pytest.raises(ExceptionGroup):
        broken()


def unresolved(order: "Order") -> int:  # type: ignore[name-defined]  # noqa: F821
    return 1


WRONG: dict[str, tuple[Any, dict[str, Any]]] = {
    "there are plain, envelope": (orders, {"profile": "fancy"}),
    "did you mean 'profile'": (orders, {"profil": "plain"}),
    "max_bytes is at least": (orders, {"max_bytes": 1}),
    "could not be resolved": (unresolved, {}),
    "is not a function": ("orders", {}),
}


@each_adapter
@pytest.mark.parametrize(("message", "given"), WRONG.items(), ids=WRONG)
def test_a_mistake_is_an_error_at_the_decorator(
    adapter: ModuleType, message: str, given: tuple[Any, dict[str, Any]]
) -> None:
    function, options = given
    with pytest.raises(ContractError, match=message):
        adapter.accord_tool(**options)(function)
