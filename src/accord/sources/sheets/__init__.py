"""D&D 5e character sheets as filled PDF forms; needs `accord-mcp[sheets]`.

Read `tool` and `request` first, then the character (`model`, `rules`, `srd`, and `calculate` with
`figures`, `spellcasting` and `attacks`), the values (`sheet`), and the PDF (`form`, `blank_form`,
`field_tree`, `widget_style`, `fill`, `drawing`, `text_layout`, `font`).
"""

try:
    import pikepdf as _pikepdf  # noqa: F401 - checks that the extra is installed
except ModuleNotFoundError as _error:
    from accord.extras import missing

    raise ImportError(missing("accord.sources.sheets", "sheets")) from _error

from accord.sources.sheets.form import PAPERS, SheetForm, list_fields, load
from accord.sources.sheets.output_folder import OutputFolder, file_name
from accord.sources.sheets.request import bind
from accord.sources.sheets.text_layout import Typeface
from accord.sources.sheets.tool import (
    NAME,
    PROFILE,
    VERSION,
    Filler,
    Report,
    form_notices,
    sheet_tool,
)

__all__ = [
    "Filler",
    "NAME",
    "OutputFolder",
    "PAPERS",
    "PROFILE",
    "Report",
    "SheetForm",
    "Typeface",
    "VERSION",
    "bind",
    "file_name",
    "form_notices",
    "list_fields",
    "load",
    "sheet_tool",
]
