"""Filled forms as viewers draw them: every value is seen, however the form was written."""

import json
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, Pdf, String

from accord.errors import ContractError
from accord.model.answer import Problem
from accord.sources.sheets import Filler, OutputFolder, Typeface, load, sheet_tool
from accord.sources.sheets.fill import read_back
from accord.sources.sheets.model import SPELL_LISTS
from sources.sheets.characters import FIGHTER, everything, thorin
from sources.sheets.fill_sheets import draw, own_filler, values
from sources.sheets.make_forms import LAYOUTS, Made, changed, make_form, official_fields
from sources.sheets.viewers import blank_boxes, every_viewer, picture, text

FACE = Typeface()
OFFICIAL_ROWS = dict(zip(SPELL_LISTS, (8, 12, 13, 13, 13, 9, 9, 9, 7, 7), strict=True))
FORM = [
    Made("Hero", 1, (50, 700, 250, 720), "text"),
    Made("Tough?", 1, (50, 660, 62, 672), "check"),
    Made("Strong?", 1, (80, 660, 92, 672), "check-without-marks"),
    Made("Tale", 2, (50, 500, 250, 650), "multiline"),
]
MAP = """\
[fields]
"Hero" = "character.name"
"Tough?" = "saves.constitution.proficient"
"Strong?" = "saves.strength.proficient"
"Tale" = "narrative.backstory"
"""
CHARACTER = thorin(narrative={"backstory": "Once upon a mountain."})
Change = Callable[[Pdf], None]


@pytest.fixture
def filler(tmp_path: Path) -> Callable[[bytes, str], Filler]:
    def make(data: bytes, mapping: str = MAP) -> Filler:
        (tmp_path / "form.pdf").write_bytes(data)
        (tmp_path / "fields.toml").write_text(mapping)
        return Filler(load(tmp_path / "form.pdf", tmp_path / "fields.toml"), FACE)

    return make


Make = Callable[..., Filler]


def named(pdf: Pdf, name: str) -> Any:
    """A widget of the form by its name."""
    found = (w for page in pdf.pages for w in page.obj.get("/Annots", ()) if w.get("/T") == name)
    return next(found)


# Fields and widgets


@every_viewer
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_value_is_seen_however_fields_and_widgets_are_written(
    layout: Change, viewer: str, filler: Make
) -> None:
    data = changed(make_form(FORM, pages=2), layout)
    drawn = draw(CHARACTER, filler=filler(data))
    assert drawn.filled.written.keys() == {field.name for field in FORM}
    assert not drawn.report.fields_hidden
    assert blank_boxes(viewer, data, drawn.filled.data) == []
    assert "Thorin Ironforge" in text(viewer, drawn.filled.data, 1)
    assert "Once upon a mountain." in text(viewer, drawn.filled.data, 2)
    assert values(drawn.filled.data) == drawn.filled.written


@every_viewer
@pytest.mark.parametrize("layout", ["separate fields", "separate copies"])
def test_the_official_form_saved_by_preview_is_filled_completely(
    layout: str, viewer: str, tmp_path: Path
) -> None:
    data = changed(make_form(official_fields(), pages=3), LAYOUTS[layout])
    path = tmp_path / "5E_CharacterSheet_Fillable.pdf"
    path.write_bytes(data)
    drawn = draw(everything(attacks=3, lines=OFFICIAL_ROWS), filler=Filler(load(path), FACE))
    blank = blank_boxes(viewer, data, drawn.filled.data)
    assert set(blank) == {"CHARACTER IMAGE", "Faction Symbol Image"}
    assert not drawn.report.fields_hidden


@every_viewer
@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_every_field_of_the_bundled_form_is_seen(viewer: str, paper: str) -> None:
    form = load(paper=paper)
    filled = draw(everything(), filler=Filler(form, FACE)).filled
    assert blank_boxes(viewer, form.blank.data, filled.data) == []


def add_twin(pdf: Pdf) -> None:
    """A second widget of the field Hero, which the form does not list."""
    hero = named(pdf, "Hero")
    twin = pdf.make_indirect(Dictionary(dict(hero.items())))
    twin.Rect = Array([300, 700, 500, 720])
    pdf.pages[1].obj.Annots.append(twin)


def share_field(pdf: Pdf) -> None:
    """One field with a widget on each page."""
    hero = named(pdf, "Hero")
    twin = pdf.make_indirect(Dictionary(dict(hero.items())))
    twin.Rect = Array([300, 700, 500, 720])
    pdf.pages[1].obj.Annots.append(twin)
    field = pdf.make_indirect(Dictionary(T=hero.T, FT=hero.FT, Kids=Array([hero, twin])))
    for widget in (hero, twin):
        del widget["/T"]
        del widget["/FT"]
        widget.Parent = field
    pdf.Root.AcroForm.Fields[0] = field


@every_viewer
@pytest.mark.parametrize("change", [add_twin, share_field], ids=["not listed", "kids"])
def test_every_widget_of_a_field_shows_its_value(change: Change, viewer: str, filler: Make) -> None:
    data = changed(make_form(FORM, pages=2), change)
    drawn = draw(CHARACTER, filler=filler(data))
    assert blank_boxes(viewer, data, drawn.filled.data) == []
    assert "Thorin Ironforge" in text(viewer, drawn.filled.data, 1)
    assert "Thorin Ironforge" in text(viewer, drawn.filled.data, 2)
    assert values(drawn.filled.data)["Hero"] == "Thorin Ironforge"


def nest(pdf: Pdf) -> None:
    """The fields below a parent, which the form does not list; the parent has their appearance."""
    fields = list(pdf.Root.AcroForm.Fields)
    above = pdf.make_indirect(
        Dictionary(T=String("sheet"), DA=String("/Helv 11 Tf 0 g"), Kids=Array(fields))
    )
    for field in fields:
        field.Parent = above
        del field["/DA"]
    pdf.Root.AcroForm.Fields = Array()


@every_viewer
def test_nested_fields_that_are_not_listed_have_their_full_names(viewer: str, filler: Make) -> None:
    data = changed(make_form(FORM, pages=2), nest)
    mapping = "\n".join(line.replace('"', '"sheet.', 1) for line in MAP.splitlines()[1:])
    nested = filler(data, f"[fields]\n{mapping}")
    drawn = draw(CHARACTER, filler=nested)
    assert blank_boxes(viewer, data, drawn.filled.data) == []
    assert "sheet.Hero" in values(drawn.filled.data)


def test_a_widget_with_an_endless_chain_of_parents_is_filled(filler: Make) -> None:
    def circle(pdf: Pdf) -> None:
        hero = named(pdf, "Hero")
        hero.Parent = pdf.make_indirect(Dictionary())
        hero.Parent.Parent = hero.Parent
        pdf.Root.AcroForm.Fields = Array(list(pdf.Root.AcroForm.Fields)[1:])

    drawn = draw(CHARACTER, filler=filler(changed(make_form(FORM, pages=2), circle)))
    assert drawn.filled.written["Hero"] == "Thorin Ironforge"


def multiply(pdf: Pdf) -> None:
    """Thousands of widgets of one name, which the form does not list."""
    hero, page = named(pdf, "Hero"), pdf.pages[1].obj
    entries = dict(hero.items())
    page.Annots = Array([pdf.make_indirect(Dictionary(entries)) for _ in range(8_000)])


def multiply_kids(pdf: Pdf) -> None:
    """Thousands of widgets below a field that the form does not list, and that lists others."""
    hero, page = named(pdf, "Hero"), pdf.pages[1].obj
    others = [Dictionary(Subtype=Name.Widget) for _ in range(8_000)]
    above = pdf.make_indirect(Dictionary(T=String("above"), Kids=Array(others)))
    entries = {**dict(hero.items()), "/Parent": above}
    page.Annots = Array([pdf.make_indirect(Dictionary(entries)) for _ in range(8_000)])


@pytest.mark.parametrize("change", [multiply, multiply_kids])
def test_a_form_with_thousands_of_widgets_of_one_name_is_read_soon(
    change: Change, filler: Make
) -> None:
    data = changed(make_form(FORM, pages=2), change)
    started = time.process_time()
    filler(data)
    assert time.process_time() - started < 20


def share_states(pdf: Pdf) -> None:
    """Thousands of check boxes that share a hundred thousand states."""
    drawing = pdf.make_stream(b"0 0 1 1 re f", Subtype=Name.Form, BBox=Array([0, 0, 1, 1]))
    states = pdf.make_indirect(Dictionary({f"/S{n}": drawing for n in range(100_000)}))
    add_widgets(pdf, Dictionary(FT=Name.Btn, AP=Dictionary(N=states)))


def share_a_drawing(pdf: Pdf) -> None:
    """Thousands of fields that share a drawing of sixty megabytes."""
    drawing = pdf.make_stream(b"(" * 60_000_000, Subtype=Name.Form, BBox=Array([0, 0, 1, 1]))
    add_widgets(pdf, Dictionary(FT=Name.Tx, AP=Dictionary(N=drawing)))


def share_a_style(pdf: Pdf) -> None:
    """Thousands of fields that share a text style of a megabyte."""
    pdf.Root.AcroForm.DA = String("/Helv " + "1" * 1_000_000)
    add_widgets(pdf, Dictionary(FT=Name.Tx))


def add_widgets(pdf: Pdf, entries: Dictionary) -> None:
    widgets = []
    for number in range(5_000):
        widget = Dictionary(dict(entries.items()))
        widget.Subtype, widget.T = Name.Widget, String(f"other {number}")
        widget.Rect = Array([0, 0, 9, 9])
        widgets.append(pdf.make_indirect(widget))
    pdf.pages[1].obj.Annots = Array(widgets)


@pytest.mark.parametrize("change", [share_states, share_a_drawing, share_a_style])
def test_what_thousands_of_widgets_share_is_read_once(change: Change, filler: Make) -> None:
    data = changed(make_form(FORM, pages=2), change)
    started = time.process_time()
    assert draw(CHARACTER, filler=filler(data)).filled.written["Hero"] == "Thorin Ironforge"
    assert time.process_time() - started < 20


def share_kids(pdf: Pdf) -> None:
    """Thousands of fields that share one list of widgets."""
    kids = [pdf.make_indirect(Dictionary(Subtype=Name.Widget)) for _ in range(1_000)]
    shared = pdf.make_indirect(Array(kids))
    for number in range(1_000):
        field = Dictionary(T=String(f"other {number}"), FT=Name.Tx, Kids=shared)
        pdf.Root.AcroForm.Fields.append(pdf.make_indirect(field))


def repeat_long_names(pdf: Pdf) -> None:
    """Names that are long together: each field adds to the name of the one above it."""
    field = pdf.make_indirect(Dictionary(T=String("last"), FT=Name.Tx))
    for _ in range(20):
        below = Array([field])
        field = pdf.make_indirect(Dictionary(T=String("n" * 1_000), Kids=below))
    pdf.Root.AcroForm.Fields.append(field)


@pytest.mark.parametrize("change", [share_kids, repeat_long_names])
def test_a_form_whose_fields_multiply_is_refused(change: Change, filler: Make) -> None:
    with pytest.raises(ContractError, match="is not a readable PDF"):
        filler(changed(make_form(FORM, pages=2), change))


def test_of_fields_with_one_name_those_of_the_first_kind_are_filled(
    filler: Make, tmp_path: Path
) -> None:
    def add_button(pdf: Pdf) -> None:
        box = Array([300, 300, 320, 320])
        button = pdf.make_indirect(
            Dictionary(Subtype=Name.Widget, T=String("Hero"), FT=Name.Btn, Rect=box)
        )
        pdf.pages[1].obj.Annots = Array([button])
        pdf.Root.AcroForm.Fields.append(button)

    form = filler(changed(make_form(FORM, pages=2), add_button))
    drawn = draw(CHARACTER, filler=form)
    assert drawn.filled.written["Hero"] == "Thorin Ironforge"
    form.store(OutputFolder(tmp_path), "hero.pdf", drawn.filled)


def test_only_the_first_bytes_of_an_appearance_are_decompressed(filler: Make) -> None:
    def bomb(pdf: Pdf) -> None:
        shown = pdf.make_stream(b"0 0 m " * 20_000_000, Subtype=Name.Form)
        named(pdf, "Hero").AP = Dictionary(N=shown)

    data = changed(make_form(FORM, pages=2), bomb)
    assert len(data) < 1_000_000
    started = time.process_time()
    assert draw(CHARACTER, filler=filler(data)).filled.written["Hero"] == "Thorin Ironforge"
    assert time.process_time() - started < 2


# What no viewer draws


def hide(pdf: Pdf) -> None:
    named(pdf, "Hero").F = 2


def move_off(pdf: Pdf) -> None:
    named(pdf, "Hero").Rect = Array([-300, -300, -100, -280])


def flatten(pdf: Pdf) -> None:
    named(pdf, "Hero").Rect = Array([50, 700, 50, 700])


def take_off(pdf: Pdf) -> None:
    page = pdf.pages[0].obj
    page.Annots = Array([each for each in page.Annots if each.get("/T") != "Hero"])


HIDDEN: dict[str, Change] = {
    "hidden": hide,
    "off the page": move_off,
    "without a size": flatten,
    "on no page": take_off,
}


@every_viewer
@pytest.mark.parametrize("change", HIDDEN.values(), ids=HIDDEN)
def test_a_value_of_a_field_that_is_not_drawn_is_on_an_added_page(
    change: Change, viewer: str, filler: Make, tmp_path: Path
) -> None:
    made = filler(changed(make_form(FORM, pages=2), change))
    drawn = draw(CHARACTER, filler=made)
    assert drawn.report.fields_hidden == ["Hero"]
    assert "Hero" not in drawn.report.fields_written
    assert "character.name" in drawn.report.overflowed
    assert "Thorin Ironforge" in text(viewer, drawn.filled.data, 3)
    tool = sheet_tool(made, OutputFolder(tmp_path))
    answer = tool.invoke(
        tool.bind(json.dumps({"character_data": CHARACTER}).encode()).arguments, None
    )
    assert [notice.message for notice in answer.warnings] == [
        "Fields that viewers do not draw; see the added pages: 'Hero'"
    ]


def test_a_form_of_which_nothing_is_drawn_is_refused(filler: Make) -> None:
    def without_widgets(pdf: Pdf) -> None:
        for page in pdf.pages:
            del page.obj["/Annots"]

    with pytest.raises(ContractError) as caught:
        filler(changed(make_form(FORM, pages=2), without_widgets))
    assert str(caught.value) == (
        "form.pdf shows none of its fields: no page has a visible widget for them;"
        " fill in the form as its publisher offers it, not a copy that lost them"
    )


def test_a_sheet_that_would_show_nothing_is_refused_and_leaves_no_file(
    filler: Make, tmp_path: Path
) -> None:
    made = filler(changed(make_form(FORM, pages=2), hide))
    character = thorin(proficiencies={"saving_throws": []})
    folder = tmp_path / "out"
    folder.mkdir()
    tool = sheet_tool(made, OutputFolder(folder))
    request = tool.bind(json.dumps({"character_data": character}).encode()).arguments
    with pytest.raises(Problem) as caught:
        tool.invoke(request, None)
    assert caught.value.message == "The sheet was not written: no field of the form shows a value"
    assert "--fields" in str(caught.value.remediation)
    assert list(folder.iterdir()) == []


def lose_widget(pdf: Pdf) -> None:
    """The page has a copy of the widget that has no appearance."""
    hero = named(pdf, "Hero")
    del hero["/AP"]


def show_other(pdf: Pdf) -> None:
    """The value of the field is right, and its widget shows another."""
    named(pdf, "Hero").AP.N = pdf.make_stream(b"0 0 m", Subtype=Name.Form, BBox=[0, 0, 1, 1])


def turn_off(pdf: Pdf) -> None:
    named(pdf, "Tough?").V = Name.Off


@pytest.mark.parametrize(
    ("change", "name"),
    [(lose_widget, "Hero"), (show_other, "Hero"), (turn_off, "Tough?")],
    ids=["no appearance", "another text", "no mark"],
)
def test_a_stored_widget_that_does_not_show_its_value_is_found(
    change: Change, name: str, filler: Make, tmp_path: Path
) -> None:
    filler(make_form(FORM, pages=2))
    form = load(tmp_path / "form.pdf", tmp_path / "fields.toml")
    filled = draw(CHARACTER, filler=Filler(form, FACE)).filled
    assert read_back(form, filled, filled.data) == []
    assert read_back(form, filled, changed(filled.data, change)) == [name]


# Values of the template


def fill_before(pdf: Pdf) -> None:
    """The form of another character, saved by a program that draws the values."""
    for name, value in (("Hero", "Bilbo"), ("Tale", "There and back again.")):
        widget = named(pdf, name)
        font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
        width, height = (float(widget.Rect[i + 2]) - float(widget.Rect[i]) for i in (0, 1))
        widget.V = widget.RV = String(value)
        shown = f"/Tx BMC BT /F 12 Tf 2 4 Td ({value}) Tj ET EMC".encode()
        widget.AP = Dictionary(
            N=pdf.make_stream(
                shown,
                Subtype=Name.Form,
                BBox=Array([0, 0, width, height]),
                Resources=Dictionary(Font=Dictionary(F=font)),
            )
        )
    box = named(pdf, "Tough?")
    box.V = box.AS = Name.Yes


def forget_value(pdf: Pdf) -> None:
    """A widget still shows a value that its field does not have."""
    fill_before(pdf)
    del named(pdf, "Tale")["/V"]
    del pdf.Root.AcroForm["/NeedAppearances"]


@every_viewer
@pytest.mark.parametrize("before", [fill_before, forget_value], ids=["values", "drawings"])
def test_values_of_another_character_are_cleared_and_reported(
    before: Change, viewer: str, filler: Make
) -> None:
    data = changed(make_form(FORM, pages=2), before)
    assert "There and back again." in text(viewer, data, 2)
    drawn = draw(thorin(proficiencies={"saving_throws": []}), filler=filler(data))
    assert values(drawn.filled.data) == {"Hero": "Thorin Ironforge"}
    assert sorted(drawn.report.fields_cleared) == ["Tale", "Tough?"]
    assert "Bilbo" not in text(viewer, drawn.filled.data, 1)
    assert "back" not in text(viewer, drawn.filled.data, 2)
    box = (50, 842 - 672, 62, 842 - 660)
    empty = changed(make_form(FORM, pages=2), lambda _: None)
    shown = picture(viewer, drawn.filled.data).crop(box)
    assert shown.tobytes() == picture(viewer, empty).crop(box).tobytes()


def test_the_rich_text_of_a_value_goes_with_it(filler: Make) -> None:
    filled = draw(CHARACTER, filler=filler(changed(make_form(FORM, pages=2), fill_before))).filled
    with pikepdf.open(BytesIO(filled.data)) as pdf:
        assert "/RV" not in named(pdf, "Hero")


def test_values_outside_the_mapping_are_kept_and_reported(filler: Make, tmp_path: Path) -> None:
    data = changed(make_form(FORM, pages=2), fill_before)
    mapping = '[fields]\nHero = "character.name"'
    drawn = draw(CHARACTER, filler=filler(data, mapping))
    assert drawn.report.fields_kept == ["Tough?", "Tale"]
    assert not drawn.report.fields_cleared
    assert values(drawn.filled.data)["Tale"] == "There and back again."


# Check marks


def dingbat(character: str, *, embedded: bool = False) -> Change:
    """Marks in ZapfDingbats, as most programs write them."""

    def change(pdf: Pdf) -> None:
        font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.ZapfDingbats)
        if embedded:
            font.FontDescriptor = Dictionary(FontFile=pdf.make_stream(b""))
        box = named(pdf, "Tough?")
        box.MK = Dictionary(CA=String(character))
        entries = {"Subtype": Name.Form, "BBox": Array([0, 0, 12, 12])}
        shown = f"q BT /ZaDb 10 Tf 2 2 Td ({character}) Tj ET Q".encode()
        resources = Dictionary(Font=Dictionary(ZaDb=font))
        box.AP = Dictionary(
            N=Dictionary(
                Yes=pdf.make_stream(shown, Resources=resources, **entries),
                Off=pdf.make_stream(b"", **entries),
            )
        )

    return change


def no_resources(pdf: Pdf) -> None:
    dingbat("4")(pdf)
    del named(pdf, "Tough?").AP.N.Yes["/Resources"]


def empty_mark(pdf: Pdf) -> None:
    dingbat("4")(pdf)
    named(pdf, "Tough?").AP.N.Yes.write(b"q Q")


def no_box(pdf: Pdf) -> None:
    dingbat("4")(pdf)
    mark = named(pdf, "Tough?").AP.N.Yes
    mark.write(b"2 2 8 8 re f")
    del mark["/BBox"]


def off_only(pdf: Pdf) -> None:
    dingbat("4")(pdf)
    del named(pdf, "Tough?").AP.N["/Yes"]


def strange_name(pdf: Pdf) -> None:
    """Nothing is painted: what looks like operators are names and strings."""
    dingbat("4")(pdf)
    named(pdf, "Tough?").AP.N.Yes.write(b"/f gs /S BMC (a f S) pop <0F> EMC")


MARKS: dict[str, Change] = {
    "names and strings": strange_name,
    **{f"ZapfDingbats {style}": dingbat(style) for style in "48lnuH"},
    "no resources": no_resources,
    "an empty mark": empty_mark,
    "no bounding box": no_box,
    "no mark": off_only,
}


@every_viewer
@pytest.mark.parametrize("change", MARKS.values(), ids=MARKS)
def test_a_check_mark_is_seen_although_the_form_has_none_that_viewers_draw(
    change: Change, viewer: str, filler: Make
) -> None:
    data = changed(make_form(FORM, pages=2), change)
    drawn = draw(CHARACTER, filler=filler(data))
    assert blank_boxes(viewer, data, drawn.filled.data) == []


@every_viewer
def test_an_unchecked_box_stays_empty(viewer: str, filler: Make) -> None:
    data = changed(make_form(FORM, pages=2), dingbat("4"))
    character = thorin(proficiencies={"saving_throws": ["strength"]})
    drawn = draw(character, filler=filler(data))
    assert "Tough?" in blank_boxes(viewer, data, drawn.filled.data)


def test_of_several_boxes_only_those_with_the_state_are_on(filler: Make) -> None:
    def choices(pdf: Pdf) -> None:
        share_box = named(pdf, "Tough?")
        other = pdf.make_indirect(Dictionary(dict(share_box.items())))
        other.Rect = Array([120, 660, 132, 672])
        states = {"/Other": share_box.AP.N.Yes, "/Off": share_box.AP.N.Off}
        other.AP = Dictionary(N=Dictionary(states))
        field = pdf.make_indirect(
            Dictionary(T=share_box.T, FT=Name.Btn, Kids=Array([share_box, other]))
        )
        for widget in (share_box, other):
            del widget["/T"]
            widget.Parent = field
        pdf.pages[0].obj.Annots.append(other)
        pdf.Root.AcroForm.Fields[1] = field

    filled = draw(CHARACTER, filler=filler(changed(make_form(FORM, pages=2), choices))).filled
    with pikepdf.open(BytesIO(filled.data)) as pdf:
        boxes = [w for w in pdf.pages[0].obj.Annots if w.get("/Parent", w).get("/T") == "Tough?"]
        assert [str(box.AS) for box in boxes] == ["/Yes", "/Off"]


# Styles of widgets


def colour(pdf: Pdf) -> None:
    named(pdf, "Hero").MK = Dictionary(BG=Array([1, 1, 0]), BC=Array([1, 0, 0]))


@every_viewer
def test_background_and_border_of_a_widget_are_drawn(viewer: str, filler: Make) -> None:
    data = changed(make_form(FORM, pages=2), colour)
    shown = picture(viewer, draw(CHARACTER, filler=filler(data)).filled.data)
    height = shown.height
    assert shown.getpixel((240, height - 710)) == (255, 255, 0)
    assert shown.getpixel((150, height - 720)) in [(255, 0, 0), (255, 127, 0), (255, 128, 0)]


@every_viewer
@pytest.mark.parametrize("turn", [90, 180, 270])
def test_text_of_a_turned_widget_is_read_on_a_turned_page(
    turn: int, viewer: str, filler: Make
) -> None:
    def rotate(pdf: Pdf) -> None:
        pdf.pages[0].obj.Rotate = turn
        hero = named(pdf, "Hero")
        hero.MK = Dictionary(R=turn)
        hero.Rect = Array([50, 400, 90, 700]) if turn != 180 else Array([50, 680, 350, 720])

    turned = draw(CHARACTER, filler=filler(changed(make_form(FORM, pages=2), rotate))).filled.data
    assert "Thorin Ironforge" in text(viewer, turned)
    box = picture(viewer, turned).convert("L").point(lambda level: 255 * (level < 128)).getbbox()
    assert box is not None
    left, top, right, bottom = box
    assert right - left > 2 * (bottom - top)


@every_viewer
def test_each_character_of_a_comb_field_has_its_cell(viewer: str, filler: Make) -> None:
    def comb(pdf: Pdf) -> None:
        hero = named(pdf, "Hero")
        hero.Ff, hero.MaxLen = 1 << 24, 20

    data = changed(make_form(FORM, pages=2), comb)
    character = thorin(character={"name": "IIIIIIIIII"})
    shown = picture(viewer, draw(character, filler=filler(data)).filled.data).convert("L")
    cells = [
        shown.crop((50 + 10 * i, shown.height - 720, 60 + 10 * i, shown.height - 700))
        for i in range(20)
    ]
    inked = [cell.getextrema()[0] < 160 for cell in cells]  # type: ignore[operator]
    assert inked == [True] * 10 + [False] * 10


def test_a_widget_without_readable_style_is_filled(filler: Make) -> None:
    def odd(pdf: Pdf) -> None:
        hero = named(pdf, "Hero")
        hero.MK = Dictionary(BG=Array([]), BC=Array([1, 2]), R=45)
        hero.BS = Dictionary(W=-4)
        hero.AP = Dictionary(N=pdf.make_stream(b"(( not a content stream"))

    drawn = draw(CHARACTER, filler=filler(changed(make_form(FORM, pages=2), odd)))
    assert drawn.filled.written["Hero"] == "Thorin Ironforge"


@every_viewer
def test_the_text_of_every_field_is_read(viewer: str) -> None:
    drawn = draw(FIGHTER, filler=own_filler())
    pages = " ".join(text(viewer, drawn.filled.data, page) for page in (1, 2, 3))
    missing = [
        value
        for value in drawn.filled.written.values()
        if isinstance(value, str) and len(value) < 60 and " ".join(value.split()) not in pages
    ]
    assert missing == []
