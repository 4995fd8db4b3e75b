"""What a link to a page asks for. Nothing is fetched."""

from typing import Final
from urllib.parse import parse_qsl, urlsplit

_MOST_DIGITS: Final = 18


def query_of(link: str) -> list[tuple[str, str]]:
    """The names and values in a link's query; none in what is no link."""
    try:
        return parse_qsl(urlsplit(link).query)
    except ValueError:
        return []


def is_number(text: str) -> bool:
    """Whether a text is a number such as pages and offsets have."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS
