"""`accord sheet`: characters from files into sheets; `accord serve sheets`: what it takes."""

import json
import shutil
import subprocess
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pikepdf
import pytest

from cli.command import accord, accord_in_terminal, assert_one_line_of_misuse
from commands import Popen
from processes import children
from sources.sheets.characters import FIGHTER, HOMEBREW, MULTICLASS, thorin
from sources.sheets.fill_sheets import values
from sources.sheets.make_forms import make_form, official_fields
from sources.sql.test_parent_death import ACCORD, SECONDS, are_gone, least, wait_until

SPELLS = {"first_level": [{"name": "Fireball", "level": 3}]}


@pytest.fixture
def party(tmp_path: Path) -> Path:
    folder = tmp_path / "party"
    folder.mkdir()
    for name, character in {"thorin": FIGHTER, "sera": MULTICLASS, "grim": HOMEBREW}.items():
        (folder / f"{name}.json").write_text(json.dumps(character))
    return folder


def held(path: Path) -> dict[str, Any]:
    return values(path.read_bytes())


def test_one_character_fills_the_named_sheet(party: Path) -> None:
    done = accord("sheet", "thorin.json", "-o", "out.pdf", cwd=party)
    assert (done.code, done.out, done.err) == (0, "out.pdf: 3 pages, 88 fields\n", "")
    assert held(party / "out.pdf")["character.name"] == "Thorin Ironforge"


def test_without_a_name_the_sheet_is_named_after_its_file(party: Path) -> None:
    assert accord("sheet", "thorin.json", cwd=party).out.startswith("thorin.pdf: ")
    assert (party / "thorin.pdf").exists()


def test_a_file_may_have_all_arguments_of_the_tool(party: Path) -> None:
    request = {"character_data": HOMEBREW, "allow_rule_violations": True, "output_path": "x.pdf"}
    done = accord("sheet", "-", cwd=party, stdin=json.dumps(request).encode())
    assert done.code == 0
    assert done.out.startswith("грим_δράκων_李小龙_سلام.pdf: 3 pages")
    assert "warning: abilities.strength: Strength score 25 exceeds maximum of 20" in done.err
    assert "note: combat.initiative is 9; by the rules 1" in done.err


def test_several_files_fill_a_folder_and_a_failure_does_not_stop_the_others(party: Path) -> None:
    names = ["thorin.json", "sera.json", "grim.json"]
    done = accord("sheet", *names, "-o", "sheets/new", cwd=party)
    assert done.code == 1
    assert sorted(path.name for path in (party / "sheets/new").iterdir()) == [
        "sera.pdf",
        "thorin.pdf",
    ]
    assert sorted(done.out.splitlines()) == [
        "sheets/new/sera.pdf: 3 pages, 87 fields",
        "sheets/new/thorin.pdf: 3 pages, 88 fields",
    ]
    assert done.err.startswith("grim.json: Invalid character data\n  abilities.strength: Strength")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_one_process_and_several_do_the_same(party: Path, jobs: str) -> None:
    for number in range(12):
        character = thorin(character={"name": f"Clone {number}"})
        (party / f"clone{number}.json").write_text(json.dumps(character))
    files = sorted(path.name for path in party.glob("clone*.json"))
    done = accord("sheet", *files, "-o", "out", "--jobs", jobs, cwd=party)
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == 12
    names = {held(path)["character.name"] for path in (party / "out").iterdir()}
    assert names == {f"Clone {number}" for number in range(12)}


def test_worker_processes_end_when_the_command_is_killed(party: Path) -> None:
    files = [f"clone{number}.json" for number in range(1000)]
    for name in files:
        (party / name).symlink_to("thorin.json")
    folders = (f"out{number}" for number in count())

    def attempt() -> float:
        words = ["sheet", *files, "-o", (folder := next(folders)), "--jobs", "2"]
        with Popen([ACCORD, *words], cwd=party, stdout=subprocess.DEVNULL) as process:
            wait_until(lambda: any(party.glob(f"{folder}/*.pdf")))
            workers = children(process.pid)
            process.kill()
        assert len(workers) == 2
        return wait_until(lambda: are_gone(workers))

    assert least(attempt) < SECONDS


def test_a_person_sees_a_bar_without_colour(party: Path) -> None:
    shown = accord_in_terminal(80, "sheet", "thorin.json", "sera.json", "-o", "out", cwd=party)
    assert "] 2/2" in shown
    assert "#" * 40 in shown
    assert "\x1b[3" not in shown


def test_single_violations_are_allowed_by_path(party: Path) -> None:
    words = ["--allow", "abilities.strength", "--allow", "character.class"]
    done = accord("sheet", "grim.json", *words, cwd=party)
    assert done.code == 1
    done = accord("sheet", "grim.json", *words, "--allow", "spells", cwd=party)
    assert done.code == 0
    done = accord("sheet", "grim.json", "--allow-rule-violations", cwd=party)
    assert done.code == 0


def test_figures_are_explained_on_request(party: Path) -> None:
    done = accord("sheet", "thorin.json", "--explain", cwd=party)
    assert "  passive_perception       13  (10, Perception +3)\n" in done.out


def test_the_whole_report_is_printed_as_json(party: Path) -> None:
    report = json.loads(accord("sheet", "thorin.json", "--json", cwd=party).out)
    assert report["success"] is True
    assert report["calculated_fields"]["armor_class"] == 18


@pytest.mark.skipif(
    shutil.which("pdftoppm") is None, reason="needs poppler: apt-get install poppler-utils"
)
def test_a_png_of_each_page_is_beside_the_sheet(party: Path) -> None:
    assert accord("sheet", "thorin.json", "-o", "t.pdf", "--png", cwd=party).code == 0
    pictures = sorted(party.glob("t-*.png"))
    assert [path.name for path in pictures] == ["t-1.png", "t-2.png", "t-3.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


@pytest.mark.skipif(
    shutil.which("pdftoppm") is None, reason="needs poppler: apt-get install poppler-utils"
)
def test_a_file_named_like_an_option_has_pictures_too(party: Path) -> None:
    (party / "thorin.json").rename(party / "-png.json")
    done = accord("sheet", "./-png.json", "--png", cwd=party)
    assert (done.code, done.err) == (0, "")
    assert len(list(party.glob("-png-*.png"))) == 3


def test_without_pdftoppm_nothing_is_done(party: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cli.command

    monkeypatch.setitem(cli.command.ENVIRONMENT, "PATH", str(party))
    done = accord("sheet", "thorin.json", "--png", cwd=party)
    assert_one_line_of_misuse(done, "--png needs pdftoppm: apt-get install poppler-utils")
    assert not (party / "thorin.pdf").exists()


def test_the_official_form_is_filled_as_a_template(party: Path) -> None:
    (party / "official.pdf").write_bytes(make_form(official_fields(), pages=3))
    done = accord("sheet", "thorin.json", "--template", "official.pdf", "-o", "o.pdf", cwd=party)
    assert done.code == 0
    assert held(party / "o.pdf")["Race "] == "Mountain dwarf"


def test_the_fields_of_a_form_are_listed_as_a_mapping_file(party: Path) -> None:
    (party / "official.pdf").write_bytes(make_form(official_fields(), pages=3))
    done = accord("sheet", "--fields", "official.pdf", cwd=party)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "[fields]"
    assert '"Race " = "character.race"  # text, page 1' in lines
    assert '"CHARACTER IMAGE" = ""  # other, page 2' in lines
    assert len(lines) == 1 + 334


def test_a_completed_list_of_fields_is_a_mapping(party: Path) -> None:
    fields = [field for field in official_fields() if field.name in ("CharacterName", "AC")]
    (party / "small.pdf").write_bytes(make_form(fields))
    listed = accord("sheet", "--fields", "small.pdf", cwd=party).out
    assert listed == '[fields]\n"CharacterName" = ""  # text, page 1\n"AC" = ""  # text, page 1\n'
    mapped = listed.replace('"AC" = ""', '"AC" = "combat.armor_class"')
    mapped = mapped.replace('"CharacterName" = ""', '"CharacterName" = "character.name"')
    (party / "fields.toml").write_text(mapped)
    words = ["--template", "small.pdf", "--map", "fields.toml", "-o", "s.pdf"]
    assert accord("sheet", "thorin.json", *words, cwd=party).code == 0
    assert held(party / "s.pdf") == {"AC": "18", "CharacterName": "Thorin Ironforge"}


def test_a_partly_completed_list_of_fields_is_a_mapping(party: Path) -> None:
    fields = [field for field in official_fields() if field.name in ("CharacterName", "AC")]
    with pikepdf.open(BytesIO(make_form(fields))) as pdf:  # in which two fields have one name
        first = pdf.Root.AcroForm.Fields[0]
        twin = pdf.make_indirect(pikepdf.Dictionary(dict(first.items())))
        pdf.Root.AcroForm.Fields.append(twin)
        pdf.save(party / "small.pdf")
    listed = accord("sheet", "--fields", "small.pdf", cwd=party).out
    mapped = listed.replace('"AC" = ""', '"AC" = "combat.armor_class"')
    (party / "fields.toml").write_text(mapped)
    words = ["--template", "small.pdf", "--map", "fields.toml", "-o", "s.pdf"]
    done = accord("sheet", "thorin.json", *words, cwd=party)
    assert done.code == 0, done.err
    assert held(party / "s.pdf") == {"AC": "18"}


def test_letter_paper_can_be_chosen(party: Path) -> None:
    assert accord("sheet", "thorin.json", "--paper", "letter", cwd=party).code == 0
    with pikepdf.open(BytesIO((party / "thorin.pdf").read_bytes())) as pdf:
        assert [float(edge) for edge in pdf.pages[0].mediabox] == [0, 0, 612, 792]


def test_control_characters_of_input_are_escaped(party: Path) -> None:
    evil = thorin(character={"class": "\x1b[2J\x1b[31mJuggler"})
    (party / "evil.json").write_text(json.dumps(evil))
    done = accord("sheet", "evil.json", cwd=party)
    assert done.code == 1
    assert "\x1b" not in done.err


MISUSE = {
    "no files": ([], ["no input: name character files"]),
    "two of one name": (["thorin.json", "../party/thorin.json"], ["would be written to thorin.pdf"]),
    "a device": (["thorin.json", "-o", "/dev/null"], ["/dev/null is not a regular file"]),
    "a map without a form": (["thorin.json", "--map", "x.toml"], ["--map", "--template"]),
    "a file that is not a form": (["thorin.json", "--template", "thorin.json"], ["is not a readable PDF"]),
    "a form that is not there": (["thorin.json", "--template", "no.pdf"], ["file no.pdf does not exist"]),
    "a file that is not a font": (["thorin.json", "--font", "thorin.json"], ["is not a TrueType font"]),
    "fields of a file that is not a form": (["--fields", "thorin.json"], ["is not a readable PDF"]),
}  # fmt: skip


@pytest.mark.parametrize(("words", "fragments"), MISUSE.values(), ids=MISUSE)
def test_misuse_is_one_line(party: Path, words: list[str], fragments: list[str]) -> None:
    assert_one_line_of_misuse(accord("sheet", *words, cwd=party), *fragments)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone.json", None, "gone.json: could not be read: no such file or directory\n"),
        ("list.json", b"[]", "list.json: is not a JSON object: Expected `object`, got `array`\n"),
        ("text.json", b"\xff", "text.json: is not a JSON object: "),
        (
            "empty.json",
            b"{}",
            "empty.json: Invalid character data\n  character: is required\n  abilities: is required\n",
        ),
    ],
)
def test_a_file_that_is_not_a_character_says_why(
    party: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (party / name).write_bytes(content)
    done = accord("sheet", name, cwd=party)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(words)


# accord serve sheets


def test_options_of_sheets_are_rejected_for_other_targets(tmp_path: Path) -> None:
    done = accord("serve", "shop:server", "--out", str(tmp_path))
    assert_one_line_of_misuse(done, "--out is for the target sheets")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    done = accord("serve", "sheets", "--out", "none/below", cwd=tmp_path)
    assert_one_line_of_misuse(done, "folder none/below does not exist")
    (tmp_path / "file").touch()
    done = accord("serve", "sheets", "--out", "file", cwd=tmp_path)
    assert_one_line_of_misuse(done, "folder file does not exist")


def test_the_folder_is_created_if_its_parent_exists(tmp_path: Path) -> None:
    assert accord("serve", "sheets", "--out", "sheets", cwd=tmp_path).code == 0
    assert (tmp_path / "sheets").is_dir()


def test_the_tool_is_shown_and_called_without_a_server(tmp_path: Path) -> None:
    assert accord("tools", "sheets", cwd=tmp_path).out.startswith(
        "dnd-character-sheet-filler 1.0.0"
    )
    request = json.dumps({"character_data": thorin(spells=SPELLS)})
    done = accord("call", "sheets", "fill_dnd_character_sheet", request, cwd=tmp_path)
    assert done.code == 1
    assert done.err == (
        "error: Invalid character data\nhint: spells.first_level[0].level: Spell 'Fireball' has"
        " level 3 but was placed in first_level array\n"
    )


def test_without_a_folder_sheets_are_written_to_this_one(tmp_path: Path) -> None:
    request = json.dumps({"character_data": thorin()})
    done = accord("call", "sheets", "fill_dnd_character_sheet", request, cwd=tmp_path)
    assert json.loads(done.out)["output_file"] == "thorin_ironforge.pdf"
    assert held(tmp_path / "thorin_ironforge.pdf")["character.race"] == "Dwarf"


def test_a_call_can_name_the_folder_and_the_form(tmp_path: Path) -> None:
    request = json.dumps({"character_data": thorin()})
    words = ["call", "sheets", "fill_dnd_character_sheet", request, "--out", "new"]
    done = accord(*words, "--paper", "letter", cwd=tmp_path)
    assert done.code == 0, done.err
    assert held(tmp_path / "new/thorin_ironforge.pdf")["character.race"] == "Dwarf"


def test_a_folder_named_sheets_is_not_a_module(tmp_path: Path) -> None:
    (tmp_path / "sheets").mkdir()
    assert accord("tools", "sheets", cwd=tmp_path).out.startswith("dnd-character-sheet-filler")
