"""A part of a page that is made: it stands between two marks, and is made anew in its place."""

import re


def replaced(page: str, name: str, made: str) -> str:
    """The page with that part made anew; an error where it has no such part."""
    begin, end = f"<!-- {name}: made by `make docs` -->", f"<!-- end of {name} -->"
    part = re.compile(f"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})", re.S)
    new, count = part.subn(lambda _: f"\n{made.strip()}\n\n", page)
    if count != 1:
        raise ValueError(f"{count} parts {name!r} where there should be one")
    return new
