"""Files are written inside one folder, atomically."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.errors import ContractError
from accord.model.answer import Problem
from accord.sources.sheets.output_folder import OutputFolder, file_name
from commands import Popen

OLD, NEW = b"old" * 1_000, b"new" * 100_000


def nothing(stored: bytes) -> None:
    assert stored


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """An output folder, and one beside it that must not be written to."""
    for name in ("inside", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside/kept.pdf").write_bytes(OLD)
    return tmp_path


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_file_is_written_and_one_that_was_there_is_replaced(world: Path) -> None:
    folder = OutputFolder(world / "inside")
    for data in (OLD, NEW):
        seen: list[bytes] = []
        folder.write("a.pdf", data, seen.append)
        assert seen == [data]
        assert (world / "inside/a.pdf").read_bytes() == data
    assert left(world / "inside") == ["a.pdf"]


def test_subfolders_are_created(world: Path) -> None:
    OutputFolder(world / "inside").write("party/dwarves/a.pdf", NEW, nothing)
    assert (world / "inside/party/dwarves/a.pdf").read_bytes() == NEW


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../outside/a.pdf",
        "a/../../outside/a.pdf",
        "..",
        ".",
        "",
        "a//b.pdf",
        "./a.pdf",
        "folder/",
        "a\x00.pdf",
        "a\nb.pdf",
        "..\\outside\\a.pdf",
        "C:\\a.pdf",
        "C:/a.pdf",
        "/dev/null",
        "a" * 300 + ".pdf",
        "new/folder/" + "a" * 300 + ".pdf",
        "new/folder/" + "é" * 130 + ".pdf",
        "a/" * 600 + "a.pdf",
    ],
)
def test_a_path_that_leads_outside_is_rejected_and_nothing_is_written(
    world: Path, name: str
) -> None:
    with pytest.raises(Problem) as caught:
        OutputFolder(world / "inside").write(file_name(name, "Thorin"), NEW, nothing)
    assert caught.value.kind == "validation"
    assert [each.field for each in caught.value.fields] == ["output_path"]
    assert str(world) not in caught.value.message
    assert left(world / "inside") == []
    assert left(world / "outside") == ["kept.pdf"]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["..", ".", "a", "/", "~", "\\", "b.pdf", "\0"]), max_size=6))
def test_no_path_at_all_leads_outside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    world = tmp_path_factory.getbasetemp() / "law"
    (world / "inside").mkdir(parents=True, exist_ok=True)
    with suppress(Problem):
        OutputFolder(world / "inside").write("/".join(parts), b"x", nothing)
    assert left(world)[:1] == ["inside"]
    assert all(name.startswith("inside") for name in left(world))


def test_links_devices_and_folders_are_rejected(world: Path) -> None:
    inside = world / "inside"
    (inside / "link.pdf").symlink_to(world / "outside/kept.pdf")
    (inside / "dangling.pdf").symlink_to(world / "outside/new.pdf")
    (inside / "away").symlink_to(world / "outside")
    (inside / "folder.pdf").mkdir()
    os.mkfifo(inside / "pipe.pdf")
    before = left(world)
    for name in ("link.pdf", "dangling.pdf", "away/a.pdf", "folder.pdf", "pipe.pdf", "link.pdf/a"):
        with pytest.raises(Problem) as caught:
            OutputFolder(inside).write(name, NEW, nothing)
        assert caught.value.fields, name
    assert left(world) == before
    assert (world / "outside/kept.pdf").read_bytes() == OLD


def test_a_folder_replaced_by_a_link_does_not_lead_outside(world: Path) -> None:
    inside, outside = world / "inside", world / "outside"
    (inside / "sub").mkdir()
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            with suppress(OSError):
                (inside / "sub").rename(inside / "aside")
                (inside / "sub").symlink_to(outside)
            with suppress(OSError):
                (inside / "sub").unlink()
                (inside / "aside").rename(inside / "sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(150):
            with suppress(Problem):
                OutputFolder(inside).write("sub/a.pdf", b"x", nothing)
    finally:
        is_over.set()
        swapper.join()
    assert left(outside) == ["kept.pdf"]
    assert (outside / "kept.pdf").read_bytes() == OLD


def test_a_file_that_fails_its_check_does_not_replace_the_old_one(
    world: Path,
) -> None:
    folder = OutputFolder(world / "inside")
    folder.write("a.pdf", OLD, nothing)

    def refuse(stored: bytes) -> None:
        raise Problem.internal("not what was written")

    with pytest.raises(Problem, match="not what was written"):
        folder.write("a.pdf", NEW, refuse)
    assert left(world / "inside") == ["a.pdf"]
    assert (world / "inside/a.pdf").read_bytes() == OLD


def run(code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    setup = "import sys, os; from pathlib import Path; from accord.sources.sheets.output_folder import OutputFolder\n"
    setup += "folder = OutputFolder(Path(sys.argv[1]))\n"
    return subprocess.run(
        [sys.executable, "-c", setup + code, *words], capture_output=True, text=True, timeout=30
    )


def test_without_space_the_old_file_stays(world: Path) -> None:
    OutputFolder(world / "inside").write("a.pdf", OLD, nothing)
    code = """
import resource
from accord import Problem
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    folder.write("a.pdf", b"new" * 100_000, lambda stored: None)
except Problem as problem:
    print(problem.kind, problem.message)
"""
    done = run(code, str(world / "inside"))
    assert done.stdout == "unavailable The sheet could not be written: no space left\n"
    assert left(world / "inside") == ["a.pdf"]
    assert (world / "inside/a.pdf").read_bytes() == OLD


def test_killed_before_the_end_the_old_file_stays(world: Path) -> None:
    OutputFolder(world / "inside").write("a.pdf", OLD, nothing)
    code = 'folder.write("a.pdf", b"new" * 100_000, lambda stored: os.kill(os.getpid(), 9))'
    assert run(code, str(world / "inside")).returncode == -signal.SIGKILL
    assert (world / "inside/a.pdf").read_bytes() == OLD


@pytest.mark.parametrize("after", [1, 2, 3])
def test_killed_at_any_time_the_file_is_one_or_the_other(world: Path, after: int) -> None:
    code = """
import sys; from pathlib import Path; from accord.sources.sheets.output_folder import OutputFolder
folder = OutputFolder(Path(sys.argv[1]))
while True:
    for letter in (b"a", b"b"):
        folder.write("a.pdf", letter * 2_000_000, lambda stored: None)
        print("written", flush=True)
"""
    command = [sys.executable, "-c", code, str(world / "inside")]
    with Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _ in range(after):
            child.stdout.readline()
        child.kill()
    held = (world / "inside/a.pdf").read_bytes()
    assert held in (b"a" * 2_000_000, b"b" * 2_000_000)


def test_a_folder_that_cannot_be_written_to_is_a_problem_without_its_path(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", str(world))

    folder = OutputFolder(world / "inside")
    monkeypatch.setattr("accord.sources.sheets.output_folder.os.open", refuse)
    with pytest.raises(Problem) as caught:
        folder.write("a.pdf", NEW, nothing)
    assert caught.value.message == "The sheet could not be written: permission denied"


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="does not exist"):
        OutputFolder(tmp_path / "none")


@pytest.mark.parametrize(
    ("given", "character", "name"),
    [
        (None, "Thorin Ironforge", "thorin_ironforge.pdf"),
        (None, "Zoë", "zoë.pdf"),
        (None, "李小龙", "李小龙.pdf"),
        (None, "../../etc/passwd", "etc_passwd.pdf"),
        (None, "  .hidden ", "hidden.pdf"),
        (None, "!?", "character.pdf"),
        (None, "x" * 400, "x" * 60 + ".pdf"),
        ("thorin_character.pdf", "Thorin", "thorin_character.pdf"),
        ("thorin", "Thorin", "thorin.pdf"),
        ("thorin.PDF", "Thorin", "thorin.PDF"),
        ("a/b.pdf", "Thorin", "a/b.pdf"),
    ],
)
def test_a_file_has_the_given_name_or_that_of_the_character(
    given: str | None, character: str, name: str
) -> None:
    assert file_name(given, character) == name
