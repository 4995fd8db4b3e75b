"""Sheets filled one after the other, by as many processes as there are cores."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final

import msgspec

from accord.child_process import end_with_parent
from accord.cli.fillers import filler
from accord.cli.visible import visible
from accord.errors import ContractError
from accord.model.answer import Problem
from accord.sources import sheets

STDIN: Final = "-"
_RESOLUTION: Final = "110"
_CHUNK: Final = 4
PICTURES: Final = "pdftoppm"


class Job(msgspec.Struct, frozen=True):
    """One character: the file it is in, and the folder and name of its sheet."""

    source: str
    folder: str
    name: str | None


class Wishes(msgspec.Struct, frozen=True):
    """What holds for all characters of a run."""

    form: dict[str, Any]
    arguments: dict[str, Any]
    has_pictures: bool
    is_json: bool


class Result(msgspec.Struct, frozen=True):
    """How a job ended: what goes to standard output, and what to standard error."""

    said: list[str]
    noted: list[str]
    has_failed: bool = False


def results(jobs: list[Job], wishes: Wishes, processes: int) -> Iterator[Result]:
    """The end of each job, one after the other."""
    processes = min(processes, len(jobs))
    if processes < 2 or any(job.source == STDIN for job in jobs):  # which only this process has
        yield from map(Worker(wishes).run, jobs)
        return
    try:
        with ProcessPoolExecutor(processes, initializer=_start, initargs=(wishes,)) as pool:
            yield from pool.map(_run, jobs, chunksize=_CHUNK)
    except BrokenProcessPool as error:
        raise ContractError("a process that filled sheets was killed; try --jobs 1") from error


_worker: "Worker"


def _start(wishes: Wishes) -> None:
    global _worker  # noqa: PLW0603 - a process of a pool has no other place
    end_with_parent(os.getppid())
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():  # it died before we asked who it is
        sys.exit()
    _worker = Worker(wishes)


def _run(job: Job) -> Result:
    return _worker.run(job)


class Worker:
    """Fills one sheet after the other."""

    def __init__(self, wishes: Wishes) -> None:
        self._filler = filler(**wishes.form)
        self._wishes = wishes

    def run(self, job: Job) -> Result:
        """Fill one; what is wrong with it is said, and stops nobody else."""
        try:
            return self._fill(job)
        except Problem as problem:
            details = [f"  {each.field}: {each.error}" for each in problem.fields]
            lines = [f"{job.source}: {problem.message}", *details]
            return Result([], [visible(line) for line in lines], has_failed=True)
        except ContractError as error:
            return Result([], [visible(f"{job.source}: {error}")], has_failed=True)

    def _fill(self, job: Job) -> Result:
        bound = sheets.bind(msgspec.json.encode(self._given(job.source)))
        request = bound.arguments
        name = sheets.file_name(job.name, request.character_data.character.name)
        drawn = self._filler.draw(request, name)
        folder = sheets.Folder(Path(job.folder))
        self._filler.store(folder, name, drawn.filled)
        written = Path(job.folder) / name
        if self._wishes.has_pictures:
            _draw_pictures(written)
        notes = [f"{job.source}: {notice.message}" for notice in bound.warnings]
        notes += _notes(job.source, drawn.report)
        said = _json(drawn.report) if self._wishes.is_json else _summary(written, drawn.report)
        return Result([visible(line) for line in said], [visible(line) for line in notes])

    def _given(self, source: str) -> dict[str, Any]:
        """The tool's arguments from a file, which has them all or the character alone."""
        try:
            text = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
            read = msgspec.json.decode(text, type=dict[str, Any])
        except OSError as error:
            raise ContractError(f"cannot be read: {(error.strerror or '').lower()}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ContractError(f"is no JSON object: {error}") from error
        given = read if "character_data" in read else {"character_data": read}
        said = {name: value for name, value in self._wishes.arguments.items() if value}
        return {name: value for name, value in given.items() if name != "output_path"} | said


def _summary(written: Path, report: sheets.Report) -> Iterator[str]:
    pages = "1 page" if report.pages == 1 else f"{report.pages} pages"
    yield f"{written}: {pages}, {len(report.fields_written)} fields"
    if report.explanations:
        values = report.calculated_fields
        width = max(map(len, values))
        for name, how in report.explanations.items():
            yield f"  {name:{width}}  {values[name]}  ({how})"


def _json(report: sheets.Report) -> list[str]:
    return [msgspec.json.encode(report).decode()]


def _notes(source: str, report: sheets.Report) -> Iterator[str]:
    for error in report.validation_errors:
        yield f"{source}: {error.severity}: {error.field}: {error.error}"
    for each in report.differences:
        yield f"{source}: note: {each.field} is {each.given}; by the rules {each.by_the_rules}"
    if report.overflowed:
        yield f"{source}: note: on added pages: {', '.join(report.overflowed)}"
    for key, characters in report.undrawn_characters.items():
        yield f"{source}: warning: {key} has letters that no font has: {characters} (see --font)"


def _draw_pictures(sheet: Path) -> None:
    """A PNG for each page, beside the sheet."""
    sheet = sheet.absolute()  # so that no name is taken for an option
    command = [PICTURES, "-png", "-r", _RESOLUTION, str(sheet), str(sheet.with_suffix(""))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().partition("\n")[0]
        raise ContractError(f"{PICTURES} cannot draw it: {reason}")
