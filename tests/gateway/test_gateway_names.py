"""Names of upstream tools: valid for every client, unique, stable (behaviours 2 and 3)."""

import asyncio
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.gateway import Gateway, spec_of
from accord.gateway.names import MAX_NAME, NameFile, Names, valid_name
from commands import ACCORD
from gateway.gateways import ODD, client_of

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")
server_names = st.text("abcxyz019.-_", min_size=1, max_size=20)
tool_names = st.text(min_size=1, max_size=150)


@pytest.mark.requirement("gateway.2.valid")
@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ("add", "add"),
        ("files.read", "files_read"),
        ("größe", "gr__e"),
        ("a" * 64, "a" * 64),
        ("search/" + "x" * 100 + "_end_of_the_name", None),
    ],
)
def test_a_name_is_valid_for_every_client(own: str, shown: str | None) -> None:
    name = valid_name(own)
    assert VALID.fullmatch(name)
    if shown is None:
        assert name.startswith("search_xxx")
        assert name.endswith("end_of_the_name")
        assert len(name) == MAX_NAME
    else:
        assert name == shown


@pytest.mark.requirement("gateway.2.collision")
def test_a_tool_of_two_servers_is_bare_for_the_first_and_has_the_second_ones_name() -> None:
    names = Names()
    assert names.name_of("git", "search", None) == "search"
    assert names.name_of("web", "search", None) == "web_search"
    assert names.name_of("web", "fetch", None) == "fetch"
    assert names.name_of("fs", "search", "files-") == "files-search"


@pytest.mark.requirement("gateway.3.stays")
def test_a_name_stays_when_another_server_brings_the_same_tool() -> None:
    names = Names()
    assert names.name_of("web", "search", None) == "search"
    assert names.name_of("git", "search", None) == "git_search"
    names.forget("web")
    assert names.name_of("git", "search", None) == "git_search"
    assert names.name_of("new", "search", None) == "search"


@pytest.mark.requirement("gateway.2.valid", "gateway.2.same-everywhere")
@given(st.lists(st.tuples(server_names, tool_names), unique=True, max_size=30))
def test_names_are_valid_unique_and_the_same_in_every_process(tools: list[tuple[str, str]]) -> None:
    first, second = Names(), Names()
    found = [first.name_of(server, tool, None) for server, tool in tools]
    assert found == [second.name_of(server, tool, None) for server, tool in tools]
    assert len(set(found)) == len(tools)
    assert all(VALID.fullmatch(each) for each in found)


@pytest.mark.requirement("gateway.2.collision")
def test_a_name_of_a_local_tool_is_not_taken() -> None:
    assert Names().name_of("web", "search", None, lambda name: name == "search") == "web_search"


def served(folder: Path, *names: str, **options: Any) -> list[str]:
    """Serve servers that all have `search`, in this order; return the listed names."""

    async def main() -> list[str]:
        specs = []
        for name in names:
            file = folder / f"{name}.json"
            file.write_text(json.dumps({"tools": [{"name": "search"}, {"name": f"{name}_own"}]}))
            command = ["/nonexistent"] if name in options.get("dead", ()) else [*ODD, str(file)]
            specs.append(spec_of(command, name=name))
        kept = NameFile(folder / "state" / "names.json")
        gateway = Gateway(specs, names=kept, max_name=options.get("max_name", 64))
        async with client_of(gateway.server, "2026-07-28") as client:
            return [each.name for each in await client.list_tools()][1:]

    return asyncio.run(main())


@pytest.mark.requirement("gateway.2.same-everywhere", "gateway.3.stays")
def test_names_are_the_same_after_a_restart_whichever_server_came_first(tmp_path: Path) -> None:
    first = served(tmp_path, "a", "b", dead=["a"])
    assert first == ["search", "b_own"]  # of b: a is down
    again = served(tmp_path, "a", "b")
    assert again == ["a_search", "a_own", "search", "b_own"]
    assert served(tmp_path, "b", "a") == ["search", "b_own", "a_search", "a_own"]
    assert served(tmp_path, "c", "a", "b")[:2] == ["c_search", "c_own"]
    assert served(tmp_path, "a") == ["a_search", "a_own"]
    assert "search" in served(tmp_path, "c")  # its owner is gone


@pytest.mark.requirement("gateway.2.same-everywhere")
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"tools": [["a", "search", "no!"]]}'])
def test_a_damaged_file_of_names_is_not_used(tmp_path: Path, content: bytes) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "names.json").write_bytes(content)
    assert served(tmp_path, "a") == ["search", "a_own"]


@pytest.mark.requirement("gateway.2.same-everywhere")
def test_names_are_given_without_a_folder_to_keep_them_in(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")
    assert served(tmp_path, "a") == ["search", "a_own"]


@pytest.mark.requirement("gateway.2.length")
def test_the_length_of_names_can_be_configured(tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps({"tools": [{"name": "x" * 61}, {"name": "y" * 60}]}))

    async def main() -> None:
        gateway = Gateway([spec_of([*ODD, str(file)], name="long")], max_name=60)
        async with client_of(gateway.server, "2026-07-28") as client:
            cut, whole = [each.name for each in await client.list_tools()][1:]
            assert whole == "y" * 60
            assert len(cut) == 60
            assert cut.startswith("xxx")
            assert cut.endswith("xxx")

    asyncio.run(main())


@pytest.mark.requirement("gateway.2.length")
@pytest.mark.parametrize(("limit", "expected"), [("60", 60), ("31", None)])
def test_the_command_line_limits_the_length_of_names(
    tmp_path: Path, limit: str, expected: int | None
) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps({"tools": [{"name": "x" * 61, "inputSchema": {"type": "object"}}]}))
    command = [ACCORD, "serve", shlex.join([*ODD, str(file)]), "--max-name", limit]

    async def main() -> None:
        async with client_of(command, "2026-07-28") as client:
            assert len([each.name for each in await client.list_tools()][1]) == expected

    if expected is not None:
        asyncio.run(main())
        return
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert "names need at least 32 characters, not 31" in done.stderr


@pytest.mark.requirement("gateway.2.reported")
def test_a_collision_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    served(tmp_path, "a", "b")
    assert "'search' of server b is served as b_search" in caplog.text
