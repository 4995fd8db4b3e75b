"""Reads any server's reply into one structure.

`read` gives the order: `unwrap` takes off JSON-RPC and what clients put around a reply, `objects`
and `messages` what frameworks do; `value` finds the value, in structure or text (`formats/`);
`known_shapes` are those of Accord itself; `call` says what the tool does; `evidence/` looks for
signs of each type, with the words of `lexicon/`, and `decision` weighs them; `items/` finds lists
in text, `paging` the page. `reading` holds the result.
"""

from accord.reader.decision import SOURCES
from accord.reader.read import read
from accord.reader.reading import Reading

__all__ = ["SOURCES", "Reading", "read"]
