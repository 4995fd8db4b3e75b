"""MCP inside a Django project; needs `accord-mcp[django]`.

Put `accord.django` into INSTALLED_APPS, and an `endpoint` into urls.py.
"""

from typing import TYPE_CHECKING, Any

try:
    import django as _django
    import rest_framework as _rest_framework
except ImportError as missing:
    raise ImportError("accord.django needs an extra: pip install 'accord-mcp[django]'") from missing

if TYPE_CHECKING:
    from accord.django.view import endpoint
    from accord.sources.drf import mcp_tool, mcp_viewset

del _django, _rest_framework

__all__ = ["endpoint", "mcp_tool", "mcp_viewset"]


def __getattr__(name: str) -> Any:
    """Loaded when asked for: this package is imported before Django is set up."""
    if name == "endpoint":
        from accord.django.view import endpoint

        return endpoint
    if name in ("mcp_tool", "mcp_viewset"):
        from accord.sources.drf import marks

        return getattr(marks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
