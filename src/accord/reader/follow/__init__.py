"""All pages of a tool: what it takes, what a page says, the ways on, and the walk along them."""

from accord.reader.follow.walk import read_all

__all__ = ["read_all"]
