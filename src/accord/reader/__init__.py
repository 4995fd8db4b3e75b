"""Reads any server's reply into one structure.

`read` runs the steps. In reading order: `objects`, `unwrap` and `blocks` turn the input into a tool
result or a payload; `value` finds the value in it, with `documents` (JSON in text), `indented`
(YAML, TOON) and `known_shapes` (Accord's own); `collection` finds the main array; `call` classifies
the call by the tool's name and arguments; `evidence/` looks for signs of each type and `decision`
weighs them; `items/` finds lists in text; `lexicon/` has the words, `sentences` their use in
sentences; `paging` finds the page. `reading` holds the result.
"""

from accord.reader.decision import SOURCES
from accord.reader.read import read
from accord.reader.reading import Reading

__all__ = ["SOURCES", "Reading", "read"]
