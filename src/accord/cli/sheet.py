"""`accord sheet`: fill sheets from character files in JSON, or list the fields of a form."""

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.cli.options import add_form_arguments, form_options
from accord.cli.terminal import ProgressBar, StatusLine, visible
from accord.cli.values import processes
from accord.errors import ContractError

if TYPE_CHECKING:
    from accord.cli.sheet_filler import JobResult, SheetJob

EXAMPLES: Final = """\
  accord sheet thorin.json -o thorin.pdf
  accord sheet party/*.json -o sheets --png
  accord sheet thorin.json --template 5E_CharacterSheet_Fillable.pdf
  accord sheet --fields form.pdf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="character as JSON: `character_data` of the tool, or all of its arguments; - reads"
        " standard input",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="file of the sheet; a folder for several sheets (default: this folder, names as those"
        " of the files)",
    )
    parser.add_argument("--png", action="store_true", help="also write an image of each page")
    parser.add_argument(
        "--fields", type=Path, metavar="PDF", help="list the fields of a form, without filling one"
    )
    parser.add_argument(
        "--explain", action="store_true", help="print how each field was calculated"
    )
    parser.add_argument("--json", action="store_true", help="print the whole report of the tool")
    parser.add_argument(
        "--allow-rule-violations",
        action="store_true",
        help="fill the sheet even if the character violates rules",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PATH",
        help="allow one violation, by its path (abilities.strength); may be repeated",
    )
    parser.add_argument(
        "--jobs",
        type=processes,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of processes (default: one for each core)",
    )
    add_form_arguments(parser.add_argument_group("The form"))


def run(options: argparse.Namespace) -> int:
    """Fill all sheets; return 1 if one could not be filled."""
    from accord.cli import sheet_filler  # an extra that other commands do not need

    if options.fields is not None:
        return _print_fields(options.fields)
    if not options.files:
        raise ContractError("no input: name character files, or use --fields PDF")
    if options.png and shutil.which(sheet_filler.PDFTOPPM) is None:
        raise ContractError(f"--png needs {sheet_filler.PDFTOPPM}: apt-get install poppler-utils")
    job_options = sheet_filler.JobOptions(
        form_options(options),
        _arguments(options),
        has_pictures=options.png,
        is_json=options.json,
    )
    jobs = _jobs(options.files, options.output)
    # Report an invalid form once, not in every process.
    sheet_filler.make_filler(**job_options.form)
    results = sheet_filler.run_jobs(jobs, job_options, options.jobs)
    has_failed = _print_one(jobs[0], results) if len(jobs) == 1 else _print_all(len(jobs), results)
    return 1 if has_failed else 0


def _print_one(job: "SheetJob", results: "Iterator[JobResult]") -> bool:
    """Print the result of the only job; return True if it failed."""
    from accord.cli.sheet_filler import STDIN

    with nullcontext() if job.source == STDIN else StatusLine(f"filling {visible(job.source)}"):
        (result,) = results
    _print(result)
    return result.has_failed


def _print_all(total: int, results: "Iterator[JobResult]") -> bool:
    """Print all results with a progress bar; return True if one failed."""
    bar = ProgressBar(total)
    has_failed = False
    for result in results:
        has_failed |= result.has_failed
        bar.clear()
        _print(result)
        bar.step(failed=result.has_failed)
    bar.clear()
    return has_failed


def _arguments(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "allow_rule_violations": options.allow_rule_violations,
        "allow": options.allow,
        "explain": options.explain,
    }


def _jobs(files: list[str], output: Path | None) -> "list[SheetJob]":
    """Return a job for each file; raise if two sheets would have one name."""
    from accord.cli.sheet_filler import STDIN, SheetJob

    if len(files) == 1 and output is not None and not output.is_dir():
        if output.exists() and not output.is_file():
            raise ContractError(f"{output} is not a regular file")
        return [SheetJob(files[0], str(output.parent), output.name)]
    folder = output or Path()
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [
        SheetJob(file, str(folder), None if file == STDIN else f"{Path(file).stem}.pdf")
        for file in files
    ]
    (name, count), *_ = Counter(job.name for job in jobs).most_common(1)
    if count > 1:
        raise ContractError(f"several files would be written to {name or 'one sheet'}")
    return jobs


def _print(result: "JobResult") -> None:
    for line in result.output:
        print(line, flush=True)
    for line in result.notes:
        print(line, file=sys.stderr, flush=True)


def _print_fields(path: Path) -> int:
    """Print a form's fields as a mapping file; the key of an unknown field is empty."""
    from accord.sources.sheets import list_fields

    fields = list_fields(path)
    print("[fields]")
    for field, key in {field.name: (field, key) for field, key in fields}.values():
        name = msgspec.json.encode(field.name).decode()
        page = field.widgets[0].page if field.widgets else 0
        line = f"{name} = {msgspec.json.encode(key).decode()}"
        print(visible(f"{line}  # {field.kind}, page {page}"))
    return 0
