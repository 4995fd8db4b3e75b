"""The official form: every field, by name, filled and read back."""

from io import BytesIO
from pathlib import Path

import pikepdf
import pytest

from accord.sources.sheets import Filler, SheetForm, Typeface, load
from accord.sources.sheets.form import PACKAGE, read_mapping
from accord.sources.sheets.model import SPELL_LISTS
from sources.sheets.characters import everything, thorin
from sources.sheets.fill_sheets import draw, values
from sources.sheets.make_forms import make_form, official_fields

FIELDS = {field.name: field for field in official_fields()}
MAPPING = read_mapping(PACKAGE / "forms" / "official.toml")
LINES = dict(zip(SPELL_LISTS, (8, 12, 13, 13, 13, 9, 9, 9, 7, 7), strict=True))
NAMES = {key: name for name, key in MAPPING.items() if name != "CharacterName 2"}


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> SheetForm:
    path = tmp_path_factory.mktemp("official") / "5E_CharacterSheet_Fillable.pdf"
    path.write_bytes(make_form(official_fields(), pages=3))
    return load(path)


def test_every_field_but_the_images_is_mapped() -> None:
    pictures = {"CHARACTER IMAGE", "Faction Symbol Image"}
    assert len(FIELDS) == 334
    assert FIELDS.keys() - MAPPING.keys() == pictures
    assert MAPPING.keys() <= FIELDS.keys()


def test_only_the_name_is_in_two_fields() -> None:
    assert len(set(MAPPING.values())) == len(MAPPING) - 1
    assert MAPPING["CharacterName"] == MAPPING["CharacterName 2"] == "character.name"


def test_the_form_is_recognized_by_its_fields(form: SheetForm) -> None:
    assert form.absent == ()
    assert {place: form.rows(f"spells.{place}") for place in SPELL_LISTS} == LINES
    assert form.rows("attacks") == 3


@pytest.mark.parametrize("place", SPELL_LISTS)
def test_lines_of_spells_go_down_the_page_with_their_marks_beside_them(place: str) -> None:
    lines = [FIELDS[NAMES[f"spells.{place}[{i}].name"]].box for i in range(LINES[place])]
    assert lines == sorted(lines, key=lambda box: -box[1])
    assert max(box[0] for box in lines) - min(box[0] for box in lines) <= 1
    if place == "cantrips":
        return
    for index, line in enumerate(lines):
        mark = FIELDS[NAMES[f"spells.{place}[{index}].prepared"]].box
        assert abs(mark[1] - line[1]) <= 2
        assert 0 < line[0] - mark[0] < 12


def test_marks_stand_beside_the_saves_and_skills_that_they_are_for() -> None:
    for key, name in NAMES.items():
        if key.endswith(".bonus"):
            mark = FIELDS[NAMES[key.replace(".bonus", ".proficient")]].box
            bonus = FIELDS[name].box
            assert abs(mark[1] - bonus[1]) <= 2, key
            assert 0 < bonus[0] - mark[0] < 15, key


def test_levels_of_spells_follow_each_other_through_the_columns() -> None:
    heads = [FIELDS[NAMES[f"spells.{place}.slots_total"]].box for place in SPELL_LISTS[1:]]
    columns = [round(box[0] / 100) for box in heads]
    assert columns == sorted(columns)
    for (left, top), (other, below) in zip(
        [(c, h[1]) for c, h in zip(columns, heads, strict=True)],
        [(c, h[1]) for c, h in zip(columns[1:], heads[1:], strict=True)],
        strict=False,
    ):
        assert left < other or top > below


def test_a_character_that_uses_every_field_fills_every_field(form: SheetForm) -> None:
    drawn = draw(everything(attacks=3, lines=LINES), filler=Filler(form, Typeface()))
    held = values(drawn.filled.data)
    assert held == drawn.filled.written
    assert held.keys() == MAPPING.keys()
    assert held["Race "] == "Human"
    assert held["CHamod"] == "+5"
    assert held["Wpn3 AtkBonus  "] == "+2"
    assert held["Spells 101013"] == "ninth_level spell 6"
    assert held["AttacksSpellcasting"] == "Attack 3 +3, 4d6\nAttack 4 +4, 5d6"


def test_check_marks_of_the_form_are_its_own(form: SheetForm) -> None:
    drawn = draw(everything(lines=LINES), filler=Filler(form, Typeface()))
    with pikepdf.open(BytesIO(drawn.filled.data)) as pdf:
        on = [w for page in pdf.pages for w in page.obj.Annots if w.get("/AS") == "/Yes"]
        assert len(on) == sum(1 for f in FIELDS.values() if f.kind == "check")
        assert {bytes(w.AP.N.Yes.read_bytes()) for w in on} == {b"0 0 4 4 re f"}
        assert "/NeedAppearances" not in pdf.Root.AcroForm


def test_spells_without_a_row_are_on_an_added_page(form: SheetForm) -> None:
    more = {**LINES, "ninth_level": 10}
    drawn = draw(everything(attacks=3, lines=more), filler=Filler(form, Typeface()))
    assert drawn.report.overflowed == ["spells.ninth_level.more"]
    assert drawn.report.pages == 4


def test_missing_fields_of_the_form_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "old.pdf"
    kept = [f for f in official_fields() if f.name not in ("Speed", "Flaws")]
    path.write_bytes(make_form(kept, pages=3))
    form = load(path)
    drawn = draw(everything(attacks=3, lines=LINES), filler=Filler(form, Typeface()))
    assert drawn.report.fields_absent == ["Speed", "Flaws"]
    assert set(drawn.report.overflowed) == {"combat.speed", "narrative.flaws"}


def test_pact_slots_stand_beside_the_slots_of_their_level(form: SheetForm) -> None:
    warlock = {"pact_slots": {"expended": 1}}
    for level, total, expended in (
        ("Warlock 5", "2 pact", "1 pact"),
        ("Warlock 5 / Wizard 5", "2 + 2 pact", "1 pact"),
    ):
        character = thorin(
            character={"class": level, "level": 5 if "/" not in level else 10},
            abilities={"charisma": 16, "intelligence": 14},
            spells=warlock,
        )
        drawn = draw(character, filler=Filler(form, Typeface()))
        held = values(drawn.filled.data)
        assert held[NAMES["spells.third_level.slots_total"]] == total
        assert held[NAMES["spells.third_level.slots_expended"]] == expended
        assert not drawn.report.overflowed
