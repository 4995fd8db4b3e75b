"""Reads any server's reply into one structure.

`read` gives the order: `unwrap` takes off JSON-RPC and what clients put around a reply; `call`
and `asked` look at the tool's name and arguments; `find` gets the value, from the structure or from
text (`text`, `yaml`, `toon`, `shown`); `own` knows the shapes of Accord itself; `judge` has the
table of rules that decide the type (`failing`, `acting`, `deeds`, `catalogs`, `listing`); `paging`
finds the page; `reading` holds the result. `items/` finds lists in text, `follow/` fetches further
pages.
"""

from accord.reader.decision import SOURCES
from accord.reader.read import read
from accord.reader.reading import Reading

__all__ = ["SOURCES", "Reading", "read"]
