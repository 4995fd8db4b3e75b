"""The views of a Django REST framework project as tools; needs `accord-mcp[django]`."""

try:
    import django
    import rest_framework
except ImportError as missing:
    raise ImportError(
        "tools from Django REST framework need an extra: pip install 'accord-mcp[django]'"
    ) from missing

from accord.sources.drf.build import Exposed, Project, SkippedWarning, build
from accord.sources.drf.marks import mcp_tool, mcp_viewset
from accord.sources.drf.routes import Routes, routes_of

del django, rest_framework

__all__ = [
    "Exposed",
    "Project",
    "Routes",
    "SkippedWarning",
    "build",
    "mcp_tool",
    "mcp_viewset",
    "routes_of",
]
