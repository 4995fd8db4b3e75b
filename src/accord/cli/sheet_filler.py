"""Fills sheets: a server for `accord serve sheets`, and a pool of processes for `accord sheet`."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from accord.child_process import end_with_parent
from accord.cli.terminal import visible
from accord.errors import ContractError
from accord.model.answer import Problem
from accord.server import Server

try:
    from accord.sources import sheets
except ImportError as _error:
    raise ContractError(str(_error)) from _error

STDIN: Final = "-"
_DPI: Final = "110"
_CHUNK: Final = 4
PDFTOPPM: Final = "pdftoppm"


def make_filler(
    template: Path | None = None,
    map: Path | None = None,
    paper: str = "a4",
    font: Sequence[Path] = (),
) -> sheets.Filler:
    """Return a filler of one form; the bundled one by default."""
    if map is not None and template is None:
        raise ContractError("--map must be given together with --template")
    return sheets.Filler(sheets.load(template, map, paper), sheets.Typeface(font))


def _make_folder(folder: Path) -> Path:
    """Create the folder if its parent exists, and return it."""
    with suppress(OSError):
        folder.mkdir()
    return folder


def sheet_server(
    out: Path | None = None,
    template: Path | None = None,
    map: Path | None = None,
    paper: str = "a4",
    font: Sequence[Path] = (),
) -> Server:
    """Return a server with the tool that fills sheets into a folder."""
    folder = sheets.OutputFolder(_make_folder(out or Path()))
    server = Server(sheets.NAME, version=sheets.VERSION, profile=sheets.PROFILE)
    server.add(sheets.sheet_tool(make_filler(template, map, paper, font), folder))
    return server


class SheetJob(msgspec.Struct, frozen=True):
    """One character file, and the folder and name of its sheet."""

    source: str
    folder: str
    name: str | None


class JobOptions(msgspec.Struct, frozen=True):
    """Options that apply to all jobs."""

    form: dict[str, Any]
    arguments: dict[str, Any]
    has_pictures: bool
    is_json: bool


class JobResult(msgspec.Struct, frozen=True):
    """The result of a job: lines for stdout, lines for stderr."""

    output: list[str]
    notes: list[str]
    has_failed: bool = False


def run_jobs(jobs: list[SheetJob], options: JobOptions, processes: int) -> Iterator[JobResult]:
    """Run the jobs and yield their results in order."""
    processes = min(processes, len(jobs))
    if processes < 2 or any(job.source == STDIN for job in jobs):  # stdin is in this process only
        yield from map(Worker(options).run, jobs)
        return
    from concurrent.futures import ProcessPoolExecutor  # slow to import, for several files only
    from concurrent.futures.process import BrokenProcessPool

    try:
        with ProcessPoolExecutor(processes, initializer=_init_worker, initargs=(options,)) as pool:
            yield from pool.map(_run, jobs, chunksize=_CHUNK)
    except BrokenProcessPool as error:
        raise ContractError("a worker process was killed; try --jobs 1") from error


_worker: "Worker"


def _init_worker(options: JobOptions) -> None:
    import multiprocessing

    global _worker  # noqa: PLW0603 - the state of a pool process
    end_with_parent(os.getppid())
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():  # it died before end_with_parent
        sys.exit()
    _worker = Worker(options)


def _run(job: SheetJob) -> JobResult:
    return _worker.run(job)


class Worker:
    """Runs jobs with one filler."""

    def __init__(self, options: JobOptions) -> None:
        self._filler = make_filler(**options.form)
        self._options = options

    def run(self, job: SheetJob) -> JobResult:
        """Run one job; a failure becomes its result, so that other jobs still run."""
        try:
            return self._fill(job)
        except Problem as problem:
            details = [f"  {each.field}: {each.error}" for each in problem.fields]
            if problem.remediation and not details:
                details = [f"  {problem.remediation}"]
            lines = [f"{job.source}: {problem.message}", *details]
            return JobResult([], [visible(line) for line in lines], has_failed=True)
        except ContractError as error:
            return JobResult([], [visible(f"{job.source}: {error}")], has_failed=True)

    def _fill(self, job: SheetJob) -> JobResult:
        bound = sheets.bind(msgspec.json.encode(self._arguments(job.source)))
        request = bound.arguments
        name = sheets.file_name(job.name, request.character_data.character.name)
        drawn = self._filler.draw(request, name)
        folder = sheets.OutputFolder(Path(job.folder))
        self._filler.store(folder, name, drawn.filled)
        written = Path(job.folder) / name
        if self._options.has_pictures:
            _draw_pictures(written)
        notes = [f"{job.source}: {notice.message}" for notice in bound.warnings]
        notes += _notes(job.source, drawn.report)
        if self._options.is_json:
            output = [msgspec.json.encode(drawn.report).decode()]
        else:
            output = list(_summary(written, drawn.report))
        return JobResult([visible(line) for line in output], [visible(line) for line in notes])

    def _arguments(self, source: str) -> dict[str, Any]:
        """Return the arguments in a file: all of them, or `character_data` alone."""
        try:
            text = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
            read = msgspec.json.decode(text, type=dict[str, Any])
        except OSError as error:
            raise ContractError(f"could not be read: {(error.strerror or '').lower()}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ContractError(f"is not a JSON object: {error}") from error
        given = read if "character_data" in read else {"character_data": read}
        options = {name: value for name, value in self._options.arguments.items() if value}
        return {name: value for name, value in given.items() if name != "output_path"} | options


def _summary(written: Path, report: sheets.Report) -> Iterator[str]:
    pages = "1 page" if report.pages == 1 else f"{report.pages} pages"
    yield f"{written}: {pages}, {len(report.fields_written)} fields"
    if report.explanations:
        values = report.calculated_fields
        width = max(map(len, values))
        for name, how in report.explanations.items():
            yield f"  {name:{width}}  {values[name]}  ({how})"


def _notes(source: str, report: sheets.Report) -> Iterator[str]:
    for error in report.validation_errors:
        yield f"{source}: {error.severity}: {error.field}: {error.error}"
    for each in report.differences:
        yield f"{source}: note: {each.field} is {each.given}; by the rules {each.by_the_rules}"
    if report.overflowed:
        yield f"{source}: note: on added pages: {', '.join(report.overflowed)}"
    for notice in sheets.form_notices(report):
        yield f"{source}: warning: {notice.message}"
    for key, characters in report.undrawn_characters.items():
        yield f"{source}: warning: {key} has characters that no font has: {characters} (see --font)"


def _draw_pictures(sheet: Path) -> None:
    """Draw each page as a PNG beside the sheet."""
    import subprocess

    sheet = sheet.absolute()  # a name must not look like an option
    command = [PDFTOPPM, "-png", "-r", _DPI, str(sheet), str(sheet.with_suffix(""))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().partition("\n")[0]
        raise ContractError(f"{PDFTOPPM} could not draw it: {reason}")
