"""MCP inside a Django project; needs `accord-mcp[django]`.

Add `accord.django` to INSTALLED_APPS and an `endpoint` to urls.py. Read `views` (the
endpoint) first, then `access` (who may use it), `project` (all endpoints as one server, system
checks) and `management/`. `decorators`, `settings`, `urls` and `test` are for projects that come
from django-rest-framework-mcp.
"""

from typing import TYPE_CHECKING, Any

try:
    import django as _django
    import rest_framework as _rest_framework
except ImportError as _error:
    from accord.extras import missing

    raise ImportError(missing("accord.django", "django")) from _error

if TYPE_CHECKING:
    from accord.django.views import endpoint
    from accord.sources.drf import mcp_tool, mcp_viewset

del _django, _rest_framework

__all__ = ["endpoint", "mcp_tool", "mcp_viewset"]


def __getattr__(name: str) -> Any:
    """Import on first use: this package is imported before Django is set up."""
    if name == "endpoint":
        from accord.django.views import endpoint

        return endpoint
    if name in ("mcp_tool", "mcp_viewset"):
        from accord.sources import drf

        return getattr(drf, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
