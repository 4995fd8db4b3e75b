"""All pages of a tool: what it takes, what a page says, the ways on, and the walk along them."""

from accord.reader.follow.walk import following, read_all

__all__ = ["following", "read_all"]
