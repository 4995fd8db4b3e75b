"""Requests the further pages of a list.

Read `walk` first, then `turn` (one page), `ways` (how to request the next one) and `inputs`.
"""

from accord.pages.turn import is_list
from accord.pages.walk import following, items_of, pages, read_all

__all__ = ["following", "is_list", "items_of", "pages", "read_all"]
