"""What a link to a page asks for. Nothing is fetched."""

from urllib.parse import parse_qsl, urlsplit


def query_of(link: str) -> list[tuple[str, str]]:
    """The names and values in a link's query; none in what is no link."""
    try:
        return parse_qsl(urlsplit(link).query)
    except ValueError:
        return []
