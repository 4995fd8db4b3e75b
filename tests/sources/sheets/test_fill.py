"""Filled sheets: every value is stored and visible, and nothing is cut silently."""

import json
import re
import shutil
import struct
from io import BytesIO
from pathlib import Path

import pikepdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import Link
from accord.sources.sheets import Filler, OutputFolder, load, sheet_tool
from accord.sources.sheets.fill import fill, read_back
from accord.sources.sheets.font import load as load_font
from accord.sources.sheets.sheet import Sheet, label
from accord.sources.sheets.text_layout import (
    BUNDLED_FONTS,
    TextBox,
    Typeface,
    layout_line,
    layout_lines,
    to_visual_order,
    wrap,
)
from sources.sheets.characters import (
    FIGHTER,
    HOMEBREW,
    LINES,
    WIZARD,
    everything,
    spells_of,
    thorin,
)
from sources.sheets.fill_sheets import appearance, draw, own_filler, values, words

FACE = Typeface()
poppler = pytest.mark.skipif(
    shutil.which("pdftotext") is None, reason="needs poppler: apt-get install poppler-utils"
)


# Every value is in the file


def test_a_character_that_uses_every_field_fills_every_field() -> None:
    form = load()
    drawn = draw(everything())
    held = values(drawn.filled.data)
    assert held == drawn.filled.written
    assert {field.name for field in form.every_field()} == held.keys()


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_both_papers_have_the_same_fields(paper: str) -> None:
    assert load(paper=paper).fields.keys() == load().fields.keys()


def test_values_are_those_of_the_character() -> None:
    held = values(draw(FIGHTER).filled.data)
    expected = {
        "character.name": "Thorin Ironforge",
        "character.class_and_level": "Fighter (Champion) 3",
        "character.experience_points": "900",
        "abilities.strength": "16",
        "modifiers.strength": "+3",
        "modifiers.charisma": "-1",
        "saves.strength.bonus": "+5",
        "saves.strength.proficient": True,
        "skills.athletics.bonus": "+5",
        "skills.athletics.proficient": True,
        "proficiency_bonus": "+2",
        "passive_perception": "13",
        "combat.armor_class": "18",
        "combat.initiative": "+1",
        "combat.hit_dice": "3d10",
        "combat.death_saves.failures[1]": True,
        "attacks[0].name": "Warhammer",
        "attacks[0].attack_bonus": "+5",
        "attacks[0].damage": "1d8+3 bludgeoning",
        "equipment.currency.gp": "42",
        "narrative.flaws": "I made a terrible mistake in battle.",
    }
    assert {name: held.get(name) for name in expected} == expected
    assert "10× Torch" in str(held["equipment.items"])
    assert "Second wind. Regain" in str(held["features.text"])
    assert "combat.death_saves.failures[2]" not in held
    assert "saves.wisdom.proficient" not in held


def test_spells_are_in_their_lists_with_slots() -> None:
    drawn = draw(WIZARD)
    held = values(drawn.filled.data)
    assert held["spells.ninth_level[0].name"] == "Astral Projection"
    assert held["spells.ninth_level[0].prepared"] is True
    assert "spells.ninth_level[1].prepared" not in held
    assert held["spells.first_level.slots_total"] == "4"
    assert held["spells.spellcasting_ability"] == "Intelligence"
    assert drawn.report.spells_organized == {f"{place}_placed": n for place, n in LINES.items()}


WARLOCK = thorin(
    character={"class": "Warlock 5 / Wizard 5", "level": 10},
    abilities={"charisma": 16, "intelligence": 14},
    spells={"pact_slots": {"expended": 1}, "slots": {"third_level": {"expended": 2}}},
)


def test_pact_slots_have_a_place_apart_from_other_slots() -> None:
    held = values(draw(WARLOCK).filled.data)
    assert (held["spells.pact_slots"], held["spells.pact_slots_expended"]) == ("2 of level 3", "1")
    assert (held["spells.third_level.slots_total"], held["spells.third_level.slots_expended"]) == (
        "2",
        "2",
    )


def test_known_cantrips_follow_the_attacks() -> None:
    spells = {"cantrips": ["Light", "Fire Bolt"]}
    held = values(
        draw(thorin(character={"class": "Wizard"}, attacks=["Dagger"], spells=spells)).filled.data
    )
    assert [held[f"attacks[1].{name}"] for name in ("name", "attack_bonus", "damage")] == [
        "Fire Bolt",
        "+2",
        "1d10 fire",
    ]


def test_speed_and_proficiencies_of_race_and_class_are_filled_in() -> None:
    held = values(draw(thorin(proficiencies={"languages": ["Common"]})).filled.data)
    assert held["combat.speed"] == "25"
    assert held["proficiencies.other"] == (
        "Languages: Common\n"
        "Armor: light armor, medium armor, heavy armor, shields\n"
        "Weapons: simple weapons, martial weapons"
    )


def test_what_is_left_out_stays_blank() -> None:
    held = values(draw(thorin()).filled.data)
    assert not [name for name in held if name.startswith(("attacks", "narrative", "features"))]
    assert "spells.spell_save_dc" not in held


def test_a_stored_field_without_its_value_is_found() -> None:
    form = load()
    drawn = draw(FIGHTER)
    assert read_back(form, drawn.filled, drawn.filled.data) == []
    with pikepdf.open(BytesIO(drawn.filled.data)) as pdf:
        (character,) = (n for n in pdf.Root.AcroForm.Fields if n.T == "character")
        (race,) = (n for n in character.Kids if n.T == "race")
        race.V = pikepdf.String("Elf")
        changed = BytesIO()
        pdf.save(changed)
    assert read_back(form, drawn.filled, changed.getvalue()) == ["character.race"]


def test_the_report_names_the_fields_that_were_written() -> None:
    drawn = draw(FIGHTER)
    assert sorted(drawn.report.fields_written) == sorted(values(drawn.filled.data))


def test_filling_twice_gives_the_same_form_and_leaves_it_clean() -> None:
    first, other, again = draw(FIGHTER), draw(thorin()), draw(FIGHTER)
    assert values(first.filled.data) == values(again.filled.data)
    assert values(other.filled.data) != values(first.filled.data)


# It is seen


def test_check_marks_have_appearances_and_are_on() -> None:
    with pikepdf.open(BytesIO(draw(FIGHTER).filled.data)) as pdf:
        marks = [w for page in pdf.pages for w in page.obj.Annots if "/AS" in w]
        on = [w for w in marks if pikepdf.Name.Off != w.AS]
        assert len(on) == len(marks) - sum(1 for w in marks if pikepdf.Name.Off == w.AS) > 8
        for widget in on:
            assert widget.AS == widget.V
            assert b" f" in widget.AP.N[str(widget.AS)].read_bytes()


def test_every_text_that_is_written_has_an_appearance_in_an_embedded_font() -> None:
    with pikepdf.open(BytesIO(draw(FIGHTER).filled.data)) as pdf:
        assert "/NeedAppearances" not in pdf.Root.AcroForm
        shown = 0
        for page in pdf.pages:
            for widget in page.obj.Annots:
                if "/AP" not in widget or "/AS" in widget:
                    continue
                shown += 1
                for font in dict(widget.AP.N.Resources.Font).values():
                    assert "/FontFile2" in font.DescendantFonts[0].FontDescriptor
        assert shown > 60


def test_the_name_is_on_each_page() -> None:
    with pikepdf.open(BytesIO(draw(FIGHTER).filled.data)) as pdf:
        (character,) = (n for n in pdf.Root.AcroForm.Fields if n.T == "character")
        (name,) = (n for n in character.Kids if n.T == "name")
        assert len(name.Kids) == 3
        assert all("/AP" in widget for widget in name.Kids)
        assert pdf.docinfo["/Title"] == "Thorin Ironforge"


SCRIPTS = {
    "Latin": "Zoë Łabędź Ñandú ß",
    "Greek": "Ωμέγα Δράκων",
    "Cyrillic": "Грим Ёжик",
    "Georgian": "ქართული",
    "Armenian": "Հայերեն",
    "Chinese": "李小龙",
    "Japanese": "山田やまダ",
}


@poppler
@pytest.mark.parametrize("name", SCRIPTS.values(), ids=SCRIPTS)
def test_a_name_in_any_of_these_scripts_is_drawn_and_can_be_read(name: str, tmp_path: Path) -> None:
    drawn = draw(thorin(character={"name": name}))
    assert name in words(drawn.filled.data, tmp_path)
    assert values(drawn.filled.data)["character.name"] == name
    assert not drawn.report.undrawn_characters


def test_hebrew_and_arabic_are_drawn_from_right_to_left() -> None:
    assert to_visual_order("שלום") == "םולש"
    assert to_visual_order("סלע Rock") == "Rock עלס"
    assert to_visual_order("Rock סלע") == "Rock עלס"
    assert [f"{ord(letter):x}" for letter in to_visual_order("سلام")] == ["fee1", "fefc", "feb3"]
    assert to_visual_order("plain (text)") == "plain (text)"
    assert FACE.missing_characters(to_visual_order("سلام שלום")) == []


def test_characters_without_a_font_are_reported() -> None:
    drawn = draw(thorin(character={"name": "สมชาย Zoë", "race": "김 Elf"}))
    assert drawn.report.undrawn_characters == {"character.name": "สมชาย", "character.race": "김"}
    assert values(drawn.filled.data)["character.name"] == "สมชาย Zoë"


def test_control_characters_and_line_ends_are_normalized() -> None:
    text = "one\r\ntwo\rthree\ttab\x00\x07\x1b[31m"
    held = values(draw(thorin(narrative={"bonds": text})).filled.data)
    assert held["narrative.bonds"] == "one\ntwo\nthree tab[31m"


# Nothing is cut silently


def size_of(drawing: bytes) -> float:
    found = re.search(rb"/F\d+ ([\d.]+) Tf", drawing)
    assert found is not None
    return float(found[1])


def test_a_long_line_is_shrunk_to_fit() -> None:
    short = draw(thorin(character={"background": "Sage"})).filled
    longer = draw(thorin(character={"background": "Haunted one of the mists"})).filled
    assert size_of(appearance(short, "background")) == 9.5
    assert 5.5 <= size_of(appearance(longer, "background")) < 9
    assert not draw(thorin(character={"background": "Haunted one of the mists"})).report.overflowed


@poppler
def test_a_line_that_does_not_fit_is_on_an_added_page(tmp_path: Path) -> None:
    background = "A very long background that nobody could ever read in such a small place. " * 2
    drawn = draw(thorin(character={"background": background.strip()}))
    assert drawn.report.overflowed == ["character.background"]
    assert drawn.report.pages == 4
    assert size_of(appearance(drawn.filled, "background")) == 5.5
    assert values(drawn.filled.data)["character.background"] == background.strip()
    added = words(drawn.filled.data, tmp_path).rpartition("\f")[0].rpartition("\f")[2]
    assert " ".join(background.split()) in " ".join(added.split())


@poppler
def test_a_cut_text_refers_to_the_added_page(tmp_path: Path) -> None:
    story = " ".join(f"sentence{i} is here." for i in range(900))
    drawn = draw(thorin(narrative={"backstory": story}))
    assert drawn.report.overflowed == ["narrative.backstory"]
    pages = words(drawn.filled.data, tmp_path).split("\f")
    assert "in full on the added page" in pages[1]
    added = " ".join(" ".join(pages[3:]).replace("Thorin Ironforge", "").split())
    assert story in added
    assert values(drawn.filled.data)["narrative.backstory"] == story


def test_features_flow_into_their_second_box_before_they_overflow() -> None:
    features = [{"name": f"Feature {i}", "description": "Once a day. " * 6} for i in range(16)]
    drawn = draw(thorin(features=features))
    held = values(drawn.filled.data)
    assert not drawn.report.overflowed
    flowed = f"{held['features.text']} {held['features.more']}".split()
    assert flowed == " ".join(f"• {f['name']}. {f['description']}" for f in features).split()


@poppler
def test_spells_and_attacks_without_a_row_are_on_an_added_page(tmp_path: Path) -> None:
    known = spells_of("Wizard", 1, 27)
    attacks = [{"name": f"Claw {i}", "attack_bonus": i, "damage": "1d4"} for i in range(7)]
    wizard = thorin(character={"class": "Wizard"}, spells={"first_level": known}, attacks=attacks)
    drawn = draw(wizard)
    assert drawn.report.overflowed == ["spells.first_level.more"]
    assert drawn.report.spells_organized == {"first_level_placed": 27}
    text = words(drawn.filled.data, tmp_path)
    assert [spell["name"] for spell in known if spell["name"] not in text] == []
    held = values(drawn.filled.data)
    assert held["attacks.more"] == "Claw 5 +5, 1d4\nClaw 6 +6, 1d4"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("abilities.strength", "Strength"),
        ("modifiers.strength", "Strength modifier"),
        ("saves.strength.bonus", "Strength save"),
        ("skills.sleight_of_hand.bonus", "Sleight of Hand"),
        ("narrative.backstory", "Backstory"),
        ("features.text", "Features"),
        ("attacks[1].name", "Attacks 2"),
        ("attacks[1].damage", "Attacks 2: Damage"),
        ("attacks[4].attack_bonus", "Attacks 5: Attack Bonus"),
        ("proficiency_bonus", "Proficiency Bonus"),
    ],
)
def test_overflow_has_a_label(key: str, words: str) -> None:
    assert label(key) == words


def test_homebrew_is_filled_unchanged() -> None:
    drawn = draw(HOMEBREW, allow_rule_violations=True)
    held = values(drawn.filled.data)
    assert held["abilities.strength"] == "25"
    assert held["combat.initiative"] == "+9"
    assert held["spells.first_level[0].name"] == "Fireball"
    assert {each.field for each in drawn.report.differences} == {"combat.initiative"}


def test_a_file_too_large_to_embed_is_linked_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.sources.sheets.tool._MAX_EMBEDDED", 1_000)
    tool = sheet_tool(own_filler(), OutputFolder(tmp_path))
    request = json.dumps({"character_data": thorin(), "return_pdf": True}).encode()
    answer = tool.invoke(tool.bind(request).arguments, None)
    assert [type(block) for block in answer.blocks] == [Link]
    (notice,) = answer.warnings
    assert notice.code == "TOO_LARGE"


# Typesetting


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80), st.floats(3, 30))
def test_lines_together_are_the_text_and_each_fits(text: str, width: float) -> None:
    lines = wrap(FACE, text, width)
    assert "".join(lines) == text
    for line in lines:
        assert FACE.width(line.rstrip()) <= width + 1e-6 or len(line.rstrip()) == 1


@settings(max_examples=50)
@given(st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=200))
def test_laid_out_lines_and_overflow_are_the_text(text: str) -> None:
    block = layout_lines(FACE, text, TextBox(60, 30, 9, 6))
    assert text.endswith(block.overflow)
    assert len(block.lines) * block.size <= 30 or len(block.lines) == 1


def test_a_line_has_the_largest_size_that_fits() -> None:
    room = TextBox(100, 12, 10, 5)
    sizes = [layout_line(FACE, "x" * count, room).size for count in (1, 20, 30, 200)]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1]) == (10, 5)
    assert layout_line(FACE, "x" * 200, room).lines[0].endswith("…")


# Fonts


def tables(font: bytes) -> dict[bytes, bytes]:
    (count,) = struct.unpack_from(">H", font, 4)
    entries = [struct.unpack_from(">4sIII", font, 12 + 16 * i) for i in range(count)]
    return {tag: font[start : start + length] for tag, _, start, length in entries}


def rebuilt(font: bytes, cmap: bytes) -> bytes:
    """Return the font with another character map."""
    parts = tables(font) | {b"cmap": cmap}
    start = 12 + 16 * len(parts)
    head, body = struct.pack(">IHHHH", 0x10000, len(parts), 0, 0, 0), b""
    for tag, part in parts.items():
        head += struct.pack(">4sIII", tag, 0, start + len(body), len(part))
        body += part
    return head + body


@pytest.mark.parametrize("path", BUNDLED_FONTS, ids=[path.stem for path in BUNDLED_FONTS])
def test_a_subset_draws_the_same_glyphs_with_far_fewer_bytes(path: Path, tmp_path: Path) -> None:
    font = load_font(path)
    text = "Zoë" if font.glyph("ë") else "李小龙"
    glyphs = [0, *(font.glyph(letter) for letter in text)]
    small = font.subset(glyphs)
    assert len(small) < 8_000
    file = tmp_path / "small.ttf"
    file.write_bytes(rebuilt(small, tables(path.read_bytes())[b"cmap"]))
    copy = load_font(file)
    for number, glyph in enumerate(dict.fromkeys(glyphs)):
        assert copy.width(number) == font.width(glyph)


def test_a_segmented_cmap_has_the_same_characters(tmp_path: Path) -> None:
    """A map in segments, which older fonts have alone."""
    data = BUNDLED_FONTS[0].read_bytes()
    cmap = tables(data)[b"cmap"]
    (count,) = struct.unpack_from(">H", cmap, 2)
    records = [struct.unpack_from(">HHI", cmap, 4 + 8 * i) for i in range(count)]
    (place,) = (at for platform, encoding, at in records if (platform, encoding) == (3, 1))
    older = struct.pack(">HHHHI", 0, 1, 3, 1, 12) + cmap[place:]
    (tmp_path / "older.ttf").write_bytes(rebuilt(data, older))
    font, same = load_font(BUNDLED_FONTS[0]), load_font(tmp_path / "older.ttf")
    for code in range(0x2600):
        assert same.glyph(chr(code)) == font.glyph(chr(code)), hex(code)
    assert same.glyph("\U0001f600") == 0


def test_an_added_font_is_used_for_missing_characters(tmp_path: Path) -> None:
    """A font that has the letter A where Thai has its first."""
    data = BUNDLED_FONTS[0].read_bytes()
    glyph = load_font(BUNDLED_FONTS[0]).glyph("A")
    group = struct.pack(">HHIIIIII", 12, 0, 28, 0, 1, 0x0E01, 0x0E01, glyph)
    cmap = struct.pack(">HHHHI", 0, 1, 3, 10, 12) + group
    (tmp_path / "thai.ttf").write_bytes(rebuilt(data, cmap))
    face = Typeface([tmp_path / "thai.ttf"])
    assert (face.missing_characters("กข"), FACE.missing_characters("กข")) == (["ข"], ["ก", "ข"])
    assert face.width("ก") == FACE.width("A")
    drawn = draw(thorin(character={"race": "ก"}), filler=Filler(load(), face))
    assert not drawn.report.undrawn_characters


def test_a_form_may_be_filled_with_nothing_but_a_name() -> None:
    filled = fill(load(), Sheet({"character.name": "Nobody"}, ()), FACE)
    assert values(filled.data) == {"character.name": "Nobody"}
