"""A whole project as a server: for a process of its own, and for `manage.py mcp`."""

from typing import Any

from django.urls import URLResolver, get_resolver

from accord.combined import combine
from accord.django.view import Endpoint, Settings, exposed, serving
from accord.server import Server
from accord.sources.drf.build import Exposed


def endpoints() -> dict[str, Endpoint]:
    """The endpoints in a project's URLs, each by its path."""
    return dict(_endpoints(get_resolver().url_patterns, ""))


def _endpoints(urls: Any, prefix: str) -> Any:
    for url in urls:
        path = prefix + str(url.pattern)
        if isinstance(url, URLResolver):
            yield from _endpoints(url.url_patterns, path)
        elif isinstance(url.callback, Endpoint):
            yield path, url.callback


def choices() -> dict[str, Settings]:
    """What a project exposes: what its endpoints say, or all it has where there are none."""
    found = {path: endpoint.settings for path, endpoint in endpoints().items()}
    return found or {"": Settings()}


def exposures(user: Any = None) -> list[Exposed]:
    """Each tool of a project, with whom it is for."""
    return [each for choice in choices().values() for each in exposed(choice, user=user)]


def server(user: Any = None) -> Server:
    """A project as a server, which acts for a user where no request says who it acts for."""
    return combine(
        {
            f"/{path}": serving(choice, exposed(choice, user=user))
            for path, choice in choices().items()
        }
    )
