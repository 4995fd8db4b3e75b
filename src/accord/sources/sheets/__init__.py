"""D&D 5e character sheets: a model, its rules, and a form filled in; extra `accord-mcp[sheets]`."""

try:
    import pikepdf as _pikepdf  # noqa: F401 - asked for once, so that one sentence says how to get it
except ModuleNotFoundError as error:
    raise ImportError("Sheets need an extra: pip install 'accord-mcp[sheets]'") from error

from accord.sources.sheets.form import PAPERS, Form, list_fields, load
from accord.sources.sheets.paths import Folder, file_name
from accord.sources.sheets.request import bind
from accord.sources.sheets.tool import NAME, PROFILE, VERSION, Filler, Report, sheet_tool
from accord.sources.sheets.typeset import Typeface

__all__ = [
    "Filler",
    "Folder",
    "Form",
    "NAME",
    "PAPERS",
    "PROFILE",
    "Report",
    "Typeface",
    "VERSION",
    "bind",
    "file_name",
    "list_fields",
    "load",
    "sheet_tool",
]
