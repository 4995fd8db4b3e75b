"""The cost of filling a sheet, compared with the PDF library's own form filling."""

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pikepdf
from pikepdf.form import DefaultAppearanceStreamGenerator
from pikepdf.form import Form as LibraryForm

from accord.sources.sheets import Filler, OutputFolder, SheetForm, Typeface, bind, load
from accord.sources.sheets.model import ABILITIES, SPELL_LISTS
from accord.sources.sheets.srd import spells
from bench.report import number, table, verdict
from bench.wire import WrongReplyError

ROUNDS = 15
SHEETS = 4  # per round
MAX_RATIO = 1.3
MANY, FEW = 1_000, 100
MAX_EXTRA_MB = 16.0
ACCORD = str(Path(sys.executable).with_name("accord"))

METHOD = """\
*pikepdf*: open the form, set the same fields through `pikepdf.form` with its own appearance generator (ASCII only),
save. *Accord*: from the JSON of a request to a file that was read back: check the arguments and the rules, calculate
the fields, draw appearances with an embedded font, write, sync and rename the file. CPU time, {rounds} rounds of
{times} sheets, alternating, medians. *Second table*: `accord sheet` with {many:,} files, in one process and in one
per core; wall time, and the memory of the largest process compared with a run of {few:,} files."""


def fighter() -> dict[str, Any]:
    """Return a common character: two pages, no spells."""
    return {
        "character": {"name": "Thorin Ironforge", "class": "Fighter", "level": 3, "race": "Dwarf"},
        "abilities": dict(zip(ABILITIES, (16, 12, 15, 10, 13, 8), strict=True)),
        "proficiencies": {"skills": ["athletics", "perception"], "languages": ["Common"]},
        "attacks": ["Warhammer", "Handaxe"],
        "equipment": {"armor": "Chain Mail", "items": ["Rope", "Torch"], "currency": {"gp": 5}},
        "narrative": {"backstory": "Born beneath the mountain. " * 20},
    }


def wizard() -> dict[str, Any]:
    """Return a character that fills the page of spells."""
    names_by_list = {
        spell_list: [
            s.name for s in spells().values() if s.level == level and "Wizard" in s.classes
        ][:8]
        for level, spell_list in enumerate(SPELL_LISTS)
    }
    lists = {
        p: [{"name": n, "prepared": True} for n in names] for p, names in names_by_list.items()
    }
    character = {"name": "Zoe", "class": "Wizard", "level": 20}
    return {"character": character, "abilities": dict.fromkeys(ABILITIES, 15), "spells": lists}


CHARACTERS = {"a fighter": fighter, "a wizard with 80 spells": wizard}


@dataclass
class Cost:
    """Milliseconds per sheet, for each round."""

    fields: int
    accord: list[float] = field(default_factory=list)
    library: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(a / b for a, b in zip(self.accord, self.library, strict=True))


@dataclass(frozen=True)
class Batch:
    """Many sheets: seconds with one process and with all, and peak memory for few and for many."""

    one_process: float
    all_processes: float
    cores: int
    few_mb: float
    many_mb: float


@dataclass(frozen=True)
class Sheets:
    """The costs by character, and of a batch."""

    costs: dict[str, Cost]
    batch: Batch
    rounds: int
    many: int


def measure_sheets(rounds: int = ROUNDS, many: int = MANY) -> Sheets:
    form = load()
    with tempfile.TemporaryDirectory() as folder:
        costs = {
            name: measure(form, make(), Path(folder), rounds) for name, make in CHARACTERS.items()
        }
        batch = measure_batch(Path(folder), many)
    return Sheets(costs, batch, rounds, many)


def measure(form: SheetForm, character: dict[str, Any], folder: Path, rounds: int) -> Cost:
    filler, out = Filler(form, Typeface()), OutputFolder(folder)
    raw = json.dumps({"character_data": character}).encode()

    def accord() -> Any:
        drawn = filler.draw(bind(raw).arguments, "sheet.pdf")
        filler.store(out, "sheet.pdf", drawn.filled)
        return drawn.filled.written

    written = accord()

    def library() -> Any:
        return fill_by_library(form, written)

    check_same(library(), written)
    cost = Cost(len(written))
    gc.collect()
    for index in range(rounds):
        runs: list[tuple[list[float], Callable[[], Any]]] = [
            (cost.accord, accord),
            (cost.library, library),
        ]
        for figures, run in runs if index % 2 == 0 else reversed(runs):
            started = time.process_time_ns()
            for _ in range(SHEETS):
                run()
            figures.append((time.process_time_ns() - started) / SHEETS / 1e6)
    return cost


def fill_by_library(form: SheetForm, written: dict[str, str | bool]) -> bytes:
    with pikepdf.open(BytesIO(form.blank.data)) as pdf:
        fields = LibraryForm(pdf, DefaultAppearanceStreamGenerator)
        for name, value in written.items():
            if value is True:
                fields[name].checked = True
            else:
                fields[name].value = value
        target = BytesIO()
        pdf.save(target)
    return target.getvalue()


def check_same(data: bytes, written: dict[str, str | bool]) -> None:
    """Raise if the library did not write the same values."""
    with pikepdf.open(BytesIO(data)) as pdf:
        fields = LibraryForm(pdf)
        for name, value in written.items():
            actual = fields[name].checked if value is True else fields[name].value
            if actual != value:
                raise WrongReplyError(f"{name} is {actual!r} with the library, not {value!r}")


def measure_batch(folder: Path, many: int) -> Batch:
    characters = folder / "characters"
    characters.mkdir()
    for index in range(many):
        (characters / f"{index}.json").write_text(json.dumps(fighter()))
    files = [str(path) for path in sorted(characters.iterdir())]
    _, few_mb = run_batch(files[:FEW], folder / "few", 0)
    all_processes, many_mb = run_batch(files, folder / "all_processes", 0)
    one_process, _ = run_batch(files, folder / "one_process", 1)
    return Batch(one_process, all_processes, os.cpu_count() or 1, few_mb, many_mb)


def run_batch(files: list[str], out: Path, jobs: int) -> tuple[float, float]:
    """Return the seconds, and the megabytes of the largest process."""
    options = ["--jobs", str(jobs)] if jobs else []
    code = (
        "import resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss);"
        "sys.exit(done.returncode)"
    )
    started = time.monotonic()
    command = [ACCORD, "sheet", *files, "-o", str(out), *options]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    seconds = time.monotonic() - started
    if done.returncode != 0 or len(list(out.iterdir())) != len(files):
        raise WrongReplyError(f"accord sheet failed: {done.stderr[:300]}")
    return seconds, int(done.stdout) / 1024


def sheets_parts(sheets: Sheets) -> list[str]:
    how = METHOD.format(rounds=sheets.rounds, times=SHEETS, many=sheets.many, few=FEW)
    return ["## Character sheets", sheets_table(sheets), batch_table(sheets), how]


def sheets_table(sheets: Sheets) -> str:
    lines = [["sheet", "fields", "pikepdf ms", "Accord ms", "ratio", f"at most {MAX_RATIO}"]]
    for name, cost in sheets.costs.items():
        figures = [number(statistics.median(f)) for f in (cost.library, cost.accord)]
        row = [
            name,
            str(cost.fields),
            *figures,
            f"{cost.ratio:.2f}",
            verdict(cost.ratio, MAX_RATIO),
        ]
        lines.append(row)
    return table(lines)


def batch_table(sheets: Sheets) -> str:
    batch = sheets.batch
    more = batch.many_mb - batch.few_mb
    head = [
        "sheets",
        "one process s",
        f"{batch.cores} processes s",
        "faster",
        "largest MB",
        "extra",
    ]
    row = [f"{sheets.many:,}", number(batch.one_process), number(batch.all_processes)]
    row += [
        f"{batch.one_process / batch.all_processes:.2f}×",
        number(batch.many_mb),
        f"{more:.1f} MB",
    ]
    return table([[*head, f"at most {MAX_EXTRA_MB:.0f} MB"], [*row, verdict(more, MAX_EXTRA_MB)]])
