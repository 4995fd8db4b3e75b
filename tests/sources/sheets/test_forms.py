"""Templates: mapped by a file, or rejected in one clear sentence."""

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.errors import ContractError
from accord.model.answer import Problem
from accord.sources.sheets import Filler, Typeface, list_fields, load
from accord.sources.sheets.fill import read_back
from accord.sources.sheets.form import read_mapping
from accord.sources.sheets.text_layout import BUNDLED_FONTS
from sources.sheets.characters import thorin
from sources.sheets.fill_sheets import draw, values
from sources.sheets.make_forms import Made, encrypted, make_form

FORM = [
    Made("Hero", 1, (50, 700, 250, 720), "text"),
    Made("Tough?", 1, (50, 660, 62, 672), "check-without-marks"),
    Made("Tale", 1, (50, 500, 250, 650), "multiline"),
    Made("Portrait", 1, (300, 500, 400, 650), "image"),
]
SOUND = make_form(FORM)
FACE = Typeface()
MAP = """\
[fields]
"Hero" = "character.name"
"Tough?" = "saves.constitution.proficient"
"Tale" = "narrative.backstory"
"""


def file(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def brought(tmp_path: Path) -> Path:
    return file(tmp_path, "own.pdf", make_form(FORM))


def test_any_form_is_filled_through_a_mapping_file(brought: Path, tmp_path: Path) -> None:
    form = load(brought, file(tmp_path, "fields.toml", MAP))
    character = thorin(narrative={"backstory": "Once."})
    filled = draw(character, filler=Filler(form, Typeface())).filled
    assert values(filled.data) == {"Hero": "Thorin Ironforge", "Tough?": True, "Tale": "Once."}


def test_a_check_mark_is_drawn_if_the_form_has_none(brought: Path, tmp_path: Path) -> None:
    form = load(brought, file(tmp_path, "fields.toml", MAP))
    filled = draw(thorin(), filler=Filler(form, Typeface())).filled
    with pikepdf.open(BytesIO(filled.data)) as pdf:
        (box,) = (w for w in pdf.pages[0].obj.Annots if w.T == "Tough?")
        assert box.AS == box.V == "/Yes"
        assert b" l S" in box.AP.N.Yes.read_bytes()
        assert box.AP.N.Off.read_bytes() == b""


def test_values_without_a_field_are_on_an_added_page(brought: Path, tmp_path: Path) -> None:
    form = load(brought, file(tmp_path, "fields.toml", MAP))
    report = draw(thorin(), filler=Filler(form, Typeface())).report
    assert {"abilities.strength", "character.race", "combat.initiative"} <= set(report.overflowed)
    assert "character.class" not in report.overflowed
    assert report.pages > 1


@pytest.mark.parametrize("paper", [(40, 30), (4_000, 9_000)], ids=["a stamp", "a poster"])
def test_added_pages_can_be_read_whatever_the_form_is_printed_on(
    paper: tuple[int, int], tmp_path: Path
) -> None:
    data = make_form([Made("Hero", 1, (2, 2, 38, 28), "text")], paper=paper)
    form = load(file(tmp_path, "p.pdf", data), file(tmp_path, "f.toml", MAP))
    character = thorin(character={"name": "A name " * 60, "background": "Word " * 90})
    drawn = draw(character, filler=Filler(form, Typeface()))
    with pikepdf.open(BytesIO(drawn.filled.data)) as pdf:
        assert len(pdf.pages) == drawn.report.pages
        _, _, width, height = (float(edge) for edge in pdf.pages[1].mediabox)
        assert (width, height) == tuple(max(side, 300) for side in paper)


def test_a_box_that_the_form_had_checked_is_cleared(tmp_path: Path) -> None:
    with pikepdf.open(BytesIO(make_form(FORM))) as pdf:
        (box,) = (w for w in pdf.pages[0].obj.Annots if w.T == "Tough?")
        box.V = box.AS = pikepdf.Name.Yes
        changed = BytesIO()
        pdf.save(changed)
    form = load(file(tmp_path, "c.pdf", changed.getvalue()), file(tmp_path, "f.toml", MAP))
    weak = thorin(proficiencies={"saving_throws": []})
    assert "Tough?" not in values(draw(weak, filler=Filler(form, Typeface())).filled.data)


def test_a_field_gets_at_most_its_maximum_length(tmp_path: Path) -> None:
    with pikepdf.open(BytesIO(make_form(FORM))) as pdf:
        (hero,) = (w for w in pdf.pages[0].obj.Annots if w.T == "Hero")
        hero.MaxLen = 6
        changed = BytesIO()
        pdf.save(changed)
    form = load(file(tmp_path, "m.pdf", changed.getvalue()), file(tmp_path, "f.toml", MAP))
    drawn = draw(thorin(), filler=Filler(form, Typeface()))
    assert values(drawn.filled.data)["Hero"] == "Thorin"
    assert "character.name" in drawn.report.overflowed


def test_xfa_and_need_appearances_are_removed(tmp_path: Path) -> None:
    data = make_form(FORM, XFA=pikepdf.String("<xdp/>"))
    form = load(file(tmp_path, "x.pdf", data), file(tmp_path, "f.toml", MAP))
    with pikepdf.open(BytesIO(draw(thorin(), filler=Filler(form, Typeface())).filled.data)) as pdf:
        assert "/XFA" not in pdf.Root.AcroForm


def test_fields_are_listed_with_their_kind_and_key(brought: Path) -> None:
    listed = [(field.name, field.kind, key) for field, key in list_fields(brought)]
    assert listed == [
        ("Hero", "text", ""),
        ("Tough?", "checkbox", ""),
        ("Tale", "text", ""),
        ("Portrait", "other", ""),
    ]


BROKEN: dict[str, tuple[Any, str]] = {
    "no PDF": (b"hello", "form.pdf is not a readable PDF"),
    "nothing": (b"", "form.pdf is not a readable PDF"),
    "half a PDF": (make_form(FORM)[:200], "form.pdf is not a readable PDF"),
    "no fields": (make_form([]), "form.pdf has no fields to fill in"),
    "a password": (
        encrypted(make_form(FORM), password="secret"),
        "form.pdf is encrypted; remove its protection first",
    ),
    "an empty password": (
        encrypted(make_form(FORM), password=""),
        "form.pdf is encrypted; remove its protection first",
    ),
    "unknown fields": (
        make_form(FORM),
        "form.pdf has unknown fields; map them with --map",
    ),
}


@pytest.mark.parametrize(("data", "sentence"), BROKEN.values(), ids=BROKEN)
def test_a_form_that_cannot_be_filled_is_one_clear_error(
    data: bytes, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ContractError) as caught:
        load(file(tmp_path, "form.pdf", data))
    assert str(caught.value) == sentence


def test_a_pdf_without_a_form_has_no_fields(tmp_path: Path) -> None:
    pdf = pikepdf.new()
    pdf.add_blank_page()
    pdf.save(tmp_path / "plain.pdf")
    with pytest.raises(ContractError, match=r"plain.pdf has no fields"):
        load(tmp_path / "plain.pdf")


def test_a_field_tree_with_a_cycle_is_rejected(tmp_path: Path) -> None:
    with pikepdf.open(BytesIO(make_form(FORM))) as pdf:
        field = pdf.Root.AcroForm.Fields[0]
        field.Kids = pikepdf.Array([field])
        pdf.save(tmp_path / "loop.pdf")
    with pytest.raises(ContractError, match=r"loop.pdf is not a readable PDF"):
        load(tmp_path / "loop.pdf")


def test_a_field_tree_that_multiplies_is_rejected_early(tmp_path: Path) -> None:
    """Thirty nodes, of which each is twice below the one before: a thousand million ways."""
    with pikepdf.open(BytesIO(make_form(FORM[:1]))) as pdf:
        node = pdf.Root.AcroForm.Fields[0]
        for _ in range(30):
            kids = pikepdf.Array([node, node])
            node = pdf.make_indirect(pikepdf.Dictionary(T=pikepdf.String("a"), Kids=kids))
        pdf.Root.AcroForm.Fields = pikepdf.Array([node])
        pdf.save(tmp_path / "web.pdf")
    with pytest.raises(ContractError, match=r"web.pdf is not a readable PDF"):
        load(tmp_path / "web.pdf")


def test_a_field_that_is_listed_twice_is_filled(tmp_path: Path) -> None:
    with pikepdf.open(BytesIO(make_form(FORM))) as pdf:
        pdf.Root.AcroForm.Fields.append(pdf.Root.AcroForm.Fields[0])
        pdf.save(tmp_path / "twice.pdf")
    form = load(tmp_path / "twice.pdf", file(tmp_path, "fields.toml", MAP))
    filled = draw(thorin(), filler=Filler(form, FACE)).filled
    assert values(filled.data)["Hero"] == "Thorin Ironforge"


def test_all_fields_with_one_name_are_filled(tmp_path: Path) -> None:
    with pikepdf.open(BytesIO(make_form(FORM))) as pdf:
        twin = pikepdf.Dictionary(dict(pdf.Root.AcroForm.Fields[0].items()))
        pdf.Root.AcroForm.Fields.append(pdf.make_indirect(twin))
        pdf.save(tmp_path / "twins.pdf")
    form = load(tmp_path / "twins.pdf", file(tmp_path, "fields.toml", MAP))
    filled = draw(thorin(), filler=Filler(form, FACE)).filled
    with pikepdf.open(BytesIO(filled.data)) as pdf:
        held = [str(each.V) for each in pdf.Root.AcroForm.Fields if each.T == "Hero"]
    assert held == ["Thorin Ironforge"] * 2


@pytest.mark.parametrize("kind", ["text", "multiline"])
@pytest.mark.parametrize("height", [20, 10**17])
def test_huge_fonts_and_fields_are_bounded(tmp_path: Path, kind: str, height: int) -> None:
    with pikepdf.open(BytesIO(make_form([Made("Hero", 1, (50, 50, 250, 70), kind)]))) as pdf:
        hero = pdf.Root.AcroForm.Fields[0]
        hero.Rect = pikepdf.Array([50, 50, 250, 50 + height])
        hero.DA = pikepdf.String("/Helv 99999999 Tf 0 g")
        pdf.save(tmp_path / "vast.pdf")
    mapping = file(tmp_path, "fields.toml", '[fields]\nHero = "character.name"')
    form = load(tmp_path / "vast.pdf", mapping)
    assert form.fields["character.name"][0].widgets[0].box.size <= 72
    filled = draw(thorin(), filler=Filler(form, FACE)).filled
    assert values(filled.data) == {"Hero": "Thorin Ironforge"}


@settings(max_examples=60)
@given(st.data())
def test_a_damaged_form_is_filled_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any input gives a form or a ContractError."""
    form = bytearray(SOUND)
    for place in data.draw(st.lists(st.integers(0, len(form) - 1), min_size=1, max_size=12)):
        form[place] = data.draw(st.integers(0, 255))
    folder = tmp_path_factory.getbasetemp()
    mapping = file(folder, "changed.toml", MAP)
    with suppress(ContractError, Problem):
        loaded = load(file(folder, "changed.pdf", bytes(form)), mapping)
        filled = draw(thorin(), filler=Filler(loaded, FACE)).filled
        assert read_back(loaded, filled, filled.data) == []


def test_a_state_with_an_odd_name_is_written_as_a_name(tmp_path: Path) -> None:
    with pikepdf.open(BytesIO(make_form(FORM))) as pdf:
        (box,) = (w for w in pdf.pages[0].obj.Annots if w.T == "Tough?")
        drawn = pdf.make_stream(b"0 0 4 4 re f", Subtype=pikepdf.Name.Form)
        box.AP = pikepdf.Dictionary(N=pikepdf.Dictionary({"/Oh yes (1)": drawn, "/Off": drawn}))
        changed = BytesIO()
        pdf.save(changed)
    form = load(file(tmp_path, "s.pdf", changed.getvalue()), file(tmp_path, "f.toml", MAP))
    filled = draw(thorin(), filler=Filler(form, Typeface())).filled
    with pikepdf.open(BytesIO(filled.data)) as pdf:
        (box,) = (w for w in pdf.pages[0].obj.Annots if w.T == "Tough?")
        assert str(box.V) == str(box.AS) == "/Oh yes (1)"


def test_a_folder_is_not_a_form(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="does not exist"):
        load(tmp_path)


MAPS: dict[str, tuple[str, str]] = {
    "no TOML": ("[fields", "is not a mapping of fields"),
    "no fields": ('name = "x"', "is not a mapping of fields"),
    "numbers": ("[fields]\nHero = 5", "is not a mapping of fields"),
    "values that there are not": (
        '[fields]\nHero = "character.shoe_size"',
        "has unknown keys: character.shoe_size",
    ),
    "a line without those before it": (
        '[fields]\nHero = "spells.tenth_level[0].name"',
        "has unknown keys: spells.tenth_level[0].name",
    ),
    "fields of another form": (
        '[fields]\nNobody = "character.name"',
        "has none of the fields in its mapping",
    ),
}


@pytest.mark.parametrize(("text", "words"), MAPS.values(), ids=MAPS)
def test_an_invalid_mapping_is_one_clear_error(
    text: str, words: str, brought: Path, tmp_path: Path
) -> None:
    with pytest.raises(ContractError) as caught:
        load(brought, file(tmp_path, "fields.toml", text))
    assert words in str(caught.value)


def test_a_missing_mapping_is_one_clear_error(brought: Path, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"could not read none.toml: No such file"):
        read_mapping(tmp_path / "none.toml")


def test_a_font_without_widths_is_one_clear_error(tmp_path: Path) -> None:
    font = bytearray(BUNDLED_FONTS[0].read_bytes())
    tags = range(12, 12 + 16 * int.from_bytes(font[4:6]), 16)
    (entry,) = (at for at in tags if font[at : at + 4] == b"head")
    head = int.from_bytes(font[entry + 8 : entry + 12])
    font[head + 18 : head + 20] = bytes(2)
    with pytest.raises(ContractError, match=r"flat.ttf is not a TrueType font"):
        Typeface([file(tmp_path, "flat.ttf", bytes(font))])


def test_a_file_that_is_not_a_font_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"fake.ttf is not a TrueType font"):
        Typeface([file(tmp_path, "fake.ttf", b"not a font")])
