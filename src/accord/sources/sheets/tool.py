"""The tool: fills a sheet, checks the stored file and reports on it."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta

from accord.model.answer import Answer, FieldError, Notice, Problem
from accord.model.content import Block, Embedded, Link
from accord.model.tool import Output, Tool
from accord.sources.sheets.calculate import calculate
from accord.sources.sheets.figures import Difference
from accord.sources.sheets.fill import FilledForm, fill, read_back
from accord.sources.sheets.form import SheetForm
from accord.sources.sheets.model import SPELL_LISTS, Character
from accord.sources.sheets.output_folder import OutputFolder, file_name
from accord.sources.sheets.request import TOOL, SheetRequest, bind, invalid_character, schema
from accord.sources.sheets.rules import to_field_errors, violations
from accord.sources.sheets.sheet import make_sheet
from accord.sources.sheets.text_layout import Typeface

NAME: Final = "dnd-character-sheet-filler"
VERSION: Final = "1.0.0"
PROFILE: Final = "bare"
_MAX_NAMED: Final = 10
_PDF: Final = "application/pdf"
_MAX_EMBEDDED: Final = 4 << 20
_DESCRIPTION: Final = (
    "Fills a D&D 5e character sheet PDF with provided character data including spells, "
    "proficiencies, and narrative elements"
)


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Report on a filled sheet; empty members are left out."""

    success: bool
    output_file: str
    calculated_fields: Annotated[
        dict[str, int | str], Meta(description="What the input left out, by the rules")
    ]
    spells_organized: Annotated[
        dict[str, int], Meta(description="How many spells of each level were placed")
    ] = {}
    validation_errors: list[FieldError] = []
    rule_violations_overridden: bool = False
    differences: Annotated[
        list[Difference], Meta(description="Given figures that differ from the rules; kept")
    ] = []
    explanations: Annotated[
        dict[str, str], Meta(description="How each calculated field came about")
    ] = {}
    pages: int
    fields_written: Annotated[list[str], Meta(description="Fields of the form, read back")]
    overflowed: Annotated[
        list[str], Meta(description="Values that did not fit, and stand on added pages in full")
    ] = []
    undrawn_characters: Annotated[
        dict[str, str], Meta(description="Characters that no font here has, by value")
    ] = {}
    fields_hidden: Annotated[
        list[str],
        Meta(description="Fields that viewers do not draw; their values stand on added pages"),
    ] = []
    fields_cleared: Annotated[
        list[str], Meta(description="Fields whose value in the template was removed")
    ] = []
    fields_kept: Annotated[
        list[str], Meta(description="Other fields that the template has a value in; unchanged")
    ] = []
    fields_absent: Annotated[
        list[str], Meta(description="Fields of the mapping that the form does not have")
    ] = []


class FilledSheet(msgspec.Struct, frozen=True):
    """A filled sheet that is not stored yet, and its report."""

    report: Report
    filled: FilledForm


class Filler:
    """Fills one form for any number of characters."""

    def __init__(self, form: SheetForm, face: Typeface) -> None:
        self._form = form
        self._face = face

    def draw(self, request: SheetRequest, file: str) -> FilledSheet:
        """Fill a sheet; raise a Problem that names every broken rule."""
        character = request.character_data
        errors = to_field_errors(
            violations(character),
            allow_all=request.allow_rule_violations,
            allow=request.allow,
        )
        if any(error.severity == "error" for error in errors):
            raise invalid_character(errors)
        figures = calculate(character)
        filled = fill(self._form, make_sheet(figures, self._form.has, self._form.rows), self._face)
        report = Report(
            success=True,
            output_file=file,
            calculated_fields=figures.calculated,
            spells_organized=_spell_counts(character),
            validation_errors=errors,
            rule_violations_overridden=bool(errors),
            differences=figures.differences,
            explanations=figures.explanations if request.explain else {},
            pages=filled.pages,
            fields_written=list(filled.written),
            overflowed=list(filled.overflowed),
            undrawn_characters=dict(filled.undrawn),
            fields_hidden=list(filled.hidden),
            fields_cleared=list(filled.cleared),
            fields_kept=list(self._form.kept),
            fields_absent=list(self._form.absent),
        )
        return FilledSheet(report, filled)

    def store(self, folder: OutputFolder, file: str, filled: FilledForm) -> None:
        """Write a filled sheet; raise a Problem if the stored file differs."""

        def check(stored: bytes) -> None:
            if wrong := read_back(self._form, filled, stored):
                names = ", ".join(wrong[:5])
                raise Problem.internal(f"The stored sheet differs from what was written: {names}")

        folder.write(file, filled.data, check)


def _spell_counts(character: Character) -> dict[str, int]:
    counts = {
        f"{spell_list}_placed": len(character.spells[spell_list]) for spell_list in SPELL_LISTS
    }
    return {name: count for name, count in counts.items() if count}


def sheet_tool(filler: Filler, folder: OutputFolder) -> Tool:
    """Return the tool that fills in character sheets and writes them to a folder."""

    def invoke(request: SheetRequest, _context: Any) -> Answer[Report]:
        given = None if request.output_path is UNSET else request.output_path
        name = request.character_data.character.name
        file = file_name(given, name)
        drawn = filler.draw(request, file)
        filler.store(folder, file, drawn.filled)
        return _answer(request, drawn, folder, file)

    return Tool(
        name=TOOL,
        description=_DESCRIPTION,
        input_schema=schema(),
        bind=bind,
        invoke=invoke,
        is_async=False,
        output=_output(),
    )


def _output() -> Output:
    (root,), defs = msgspec.json.schema_components([Report], ref_template="#/$defs/{name}")
    described = defs.pop(root["$ref"].rpartition("/")[2])
    described = {**described, "$defs": defs} if defs else described
    return Output(schema=described, check=msgspec.json.Decoder(Report).decode, is_loose=False)


def form_notices(report: Report) -> Iterator[Notice]:
    """Yield a warning for each kind of fields of the template that need a person's attention."""
    for fields, sentence in (
        (report.fields_hidden, "Fields that viewers do not draw; see the added pages"),
        (report.fields_cleared, "Values of the template were removed from the fields"),
        (report.fields_kept, "Values of the template remain in the fields"),
    ):
        if fields:
            more = f" and {len(fields) - _MAX_NAMED} more" if len(fields) > _MAX_NAMED else ""
            named = ", ".join(repr(name) for name in fields[:_MAX_NAMED])
            yield Notice(f"{sentence}: {named}{more}", code="TEMPLATE_FIELDS")


def _answer(
    request: SheetRequest, drawn: FilledSheet, folder: OutputFolder, file: str
) -> Answer[Report]:
    uri = folder.path(file).as_uri()
    name = request.character_data.character.name
    blocks: list[Block] = [Link(uri, file, _PDF, f"Character sheet of {name}")]
    warnings = list(form_notices(drawn.report))
    if request.return_pdf:
        if len(drawn.filled.data) <= _MAX_EMBEDDED:
            blocks.append(Embedded(uri, drawn.filled.data, _PDF))
        else:
            sentence = f"The PDF has {len(drawn.filled.data):,} bytes, too many to embed"
            warnings.append(Notice(sentence, code="TOO_LARGE"))
    message = f"Character sheet written to {file}"
    return Answer(drawn.report, message=message, blocks=blocks, warnings=warnings)
