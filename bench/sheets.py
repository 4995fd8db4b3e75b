"""What it costs to fill a sheet, beside the PDF library's own filling of the same fields."""

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

from accord.sources.sheets import Filler, Folder, Form, Typeface, bind, load
from accord.sources.sheets.model import ABILITIES, SPELL_LISTS
from accord.sources.sheets.srd import spells
from bench.report import number, table, verdict
from bench.wire import WrongReplyError

ROUNDS = 15
TIMES = 4  # a round
MOST = 1.3
MANY, FEW = 1_000, 100
MORE_MB = 16.0
ACCORD = str(Path(sys.executable).with_name("accord"))

HOW = """\
*pikepdf*: the form opened, each of the same fields set through `pikepdf.form` with its own generator of appearances
(which draws ASCII alone), and saved. *Accord*: from the JSON of a request to a file that was read back: arguments
checked, rules, figures, appearances in an embedded font, the file written, synced and renamed. CPU time, {rounds}
rounds of {times} sheets with both by turns, medians. *Many*: `accord sheet` with {many:,} files, by one process and
by one for each core; wall time, and the largest process, beside a run of {few:,} files."""


def fighter() -> dict[str, Any]:
    """A character as most are: two pages, no spells."""
    return {
        "character": {"name": "Thorin Ironforge", "class": "Fighter", "level": 3, "race": "Dwarf"},
        "abilities": dict(zip(ABILITIES, (16, 12, 15, 10, 13, 8), strict=True)),
        "proficiencies": {"skills": ["athletics", "perception"], "languages": ["Common"]},
        "attacks": ["Warhammer", "Handaxe"],
        "equipment": {"armor": "Chain Mail", "items": ["Rope", "Torch"], "currency": {"gp": 5}},
        "narrative": {"backstory": "Born beneath the mountain. " * 20},
    }


def wizard() -> dict[str, Any]:
    """A character that fills the page of spells."""
    known = {
        place: [s.name for s in spells().values() if s.level == level and "Wizard" in s.classes][:8]
        for level, place in enumerate(SPELL_LISTS)
    }
    lists = {p: [{"name": n, "prepared": True} for n in names] for p, names in known.items()}
    who = {"name": "Zoe", "class": "Wizard", "level": 20}
    return {"character": who, "abilities": dict.fromkeys(ABILITIES, 15), "spells": lists}


CHARACTERS = {"a fighter": fighter, "a wizard with 80 spells": wizard}


@dataclass
class Cost:
    """Milliseconds a sheet, round by round."""

    fields: int
    ours: list[float] = field(default_factory=list)
    library: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(a / b for a, b in zip(self.ours, self.library, strict=True))


@dataclass(frozen=True)
class Crowd:
    """Many sheets: seconds by one process and by all, and the largest process of few and many."""

    alone: float
    together: float
    cores: int
    few_mb: float
    many_mb: float


@dataclass(frozen=True)
class Sheets:
    costs: dict[str, Cost]
    crowd: Crowd
    rounds: int
    many: int


def measure_sheets(rounds: int = ROUNDS, many: int = MANY) -> Sheets:
    form = load()
    with tempfile.TemporaryDirectory() as folder:
        costs = {
            name: measure(form, make(), Path(folder), rounds) for name, make in CHARACTERS.items()
        }
        crowd = measure_crowd(Path(folder), many)
    return Sheets(costs, crowd, rounds, many)


def measure(form: Form, character: dict[str, Any], folder: Path, rounds: int) -> Cost:
    filler, out = Filler(form, Typeface()), Folder(folder)
    raw = json.dumps({"character_data": character}).encode()

    def ours() -> Any:
        drawn = filler.draw(bind(raw).arguments, "sheet.pdf")
        filler.store(out, "sheet.pdf", drawn.filled)
        return drawn.filled.written

    written = ours()

    def library() -> Any:
        return fill_by_library(form, written)

    require_same(library(), written)
    cost = Cost(len(written))
    gc.collect()
    for turn in range(rounds):
        turns: list[tuple[list[float], Callable[[], Any]]] = [
            (cost.ours, ours),
            (cost.library, library),
        ]
        for figures, work in turns if turn % 2 == 0 else reversed(turns):
            begun = time.process_time_ns()
            for _ in range(TIMES):
                work()
            figures.append((time.process_time_ns() - begun) / TIMES / 1e6)
    return cost


def fill_by_library(form: Form, written: dict[str, str | bool]) -> bytes:
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


def require_same(data: bytes, written: dict[str, str | bool]) -> None:
    """The library has to do the same work to be compared."""
    with pikepdf.open(BytesIO(data)) as pdf:
        fields = LibraryForm(pdf)
        for name, value in written.items():
            held = fields[name].checked if value is True else fields[name].value
            if held != value:
                raise WrongReplyError(f"{name} is {held!r} by the library, not {value!r}")


def measure_crowd(folder: Path, many: int) -> Crowd:
    party = folder / "party"
    party.mkdir()
    for index in range(many):
        (party / f"{index}.json").write_text(json.dumps(fighter()))
    files = [str(path) for path in sorted(party.iterdir())]
    _, few_mb = run_crowd(files[:FEW], folder / "few", 0)
    together, many_mb = run_crowd(files, folder / "together", 0)
    alone, _ = run_crowd(files, folder / "alone", 1)
    return Crowd(alone, together, os.cpu_count() or 1, few_mb, many_mb)


def run_crowd(files: list[str], out: Path, jobs: int) -> tuple[float, float]:
    """Seconds that it took, and the megabytes of its largest process."""
    words = ["--jobs", str(jobs)] if jobs else []
    code = (
        "import resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss);"
        "sys.exit(done.returncode)"
    )
    begun = time.monotonic()
    command = [ACCORD, "sheet", *files, "-o", str(out), *words]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    seconds = time.monotonic() - begun
    if done.returncode != 0 or len(list(out.iterdir())) != len(files):
        raise WrongReplyError(f"accord sheet failed: {done.stderr[:300]}")
    return seconds, int(done.stdout) / 1024


# As Markdown


def sheets_parts(sheets: Sheets) -> list[str]:
    how = HOW.format(rounds=sheets.rounds, times=TIMES, many=sheets.many, few=FEW)
    return ["## Character sheets", sheets_table(sheets), crowd_table(sheets), how]


def sheets_table(sheets: Sheets) -> str:
    lines = [["sheet", "fields", "pikepdf ms", "Accord ms", "ratio", f"at most {MOST}"]]
    for name, cost in sheets.costs.items():
        figures = [number(statistics.median(f)) for f in (cost.library, cost.ours)]
        row = [name, str(cost.fields), *figures, f"{cost.ratio:.2f}", verdict(cost.ratio, MOST)]
        lines.append(row)
    return table(lines)


def crowd_table(sheets: Sheets) -> str:
    crowd = sheets.crowd
    more = crowd.many_mb - crowd.few_mb
    head = ["sheets", "one process s", f"{crowd.cores} processes s", "faster", "largest MB", "more"]
    row = [f"{sheets.many:,}", number(crowd.alone), number(crowd.together)]
    row += [f"{crowd.alone / crowd.together:.2f}×", number(crowd.many_mb), f"{more:.1f} MB"]
    return table([[*head, f"at most {MORE_MB:.0f} MB"], [*row, verdict(more, MORE_MB)]])
