"""Words of tool names that several sources of evidence ask for."""

from typing import Final

from accord.reader.lexicon import words

REFUSING: Final = words("names.refusing")
COMPUTING: Final = words("names.computing")
EXPORTING: Final = words("names.exporting")
