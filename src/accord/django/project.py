"""A project's endpoints as one server, and their system check."""

import warnings
from typing import Any

from django.core import checks
from django.urls import URLResolver, get_resolver

from accord.django.settings import DEFAULTS, mcp_settings
from accord.django.views import Endpoint, EndpointSettings, find_tools, make_server
from accord.errors import ContractError
from accord.server import Server, combine
from accord.sources.drf import SkippedWarning
from accord.sources.drf.build import ExposedTool


def endpoints() -> dict[str, Endpoint]:
    """Return the endpoints in the project's URLs, by path."""
    return dict(_endpoints(get_resolver().url_patterns, ""))


def _endpoints(urls: Any, prefix: str) -> Any:
    for url in urls:
        path = prefix + str(url.pattern)
        if isinstance(url, URLResolver):
            yield from _endpoints(url.url_patterns, path)
        elif isinstance(url.callback, Endpoint):
            yield path, url.callback


def endpoint_settings() -> dict[str, EndpointSettings]:
    """Return the settings of the endpoints by path; defaults if there are none."""
    found = {path: endpoint.settings for path, endpoint in endpoints().items()}
    return found or {"": EndpointSettings()}


def exposed_tools(user: Any = None) -> list[ExposedTool]:
    """Return every tool of the project with its view's permissions."""
    return [
        each for options in endpoint_settings().values() for each in find_tools(options, user=user)
    ]


def server(user: Any = None) -> Server:
    """Return the project as one server; `user` is the user outside of an HTTP request."""
    return combine(
        {
            f"/{path}": make_server(options, find_tools(options, user=user))
            for path, options in endpoint_settings().items()
        }
    )


def _unknown(name: str) -> checks.CheckMessage:
    reason = f"DJANGORESTFRAMEWORK_MCP has no member {name!r}; there are {', '.join(DEFAULTS)}"
    return checks.Warning(reason, id="accord.W002")


def check_endpoints(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Build the tools of every endpoint; report errors, and a warning for each skipped view."""
    found: list[checks.CheckMessage] = [_unknown(name) for name in mcp_settings.unknown()]
    for path, endpoint in endpoints().items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                endpoint.rebuild()
            except ContractError as error:
                found.append(checks.Error(str(error), obj=f"/{path}", id="accord.E001"))
        messages = [
            str(each.message) for each in caught if issubclass(each.category, SkippedWarning)
        ]
        found += [checks.Warning(each, obj=f"/{path}", id="accord.W001") for each in messages]
    return found
