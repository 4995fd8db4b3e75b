"""Django REST framework views as tools; needs `accord-mcp[django]`.

Read `routes` and `build` first, then `naming`, `describe` (from `fields`, `filters`, `spectacular`,
`descriptions`), `compact` and `views` (permissions); a call goes through `requests`, `dispatch`,
`responses` and `paging`.
"""

try:
    import django
    import rest_framework
except ImportError as _error:
    from accord.extras import missing

    raise ImportError(missing("accord.sources.drf", "django")) from _error

from accord.sources.drf.build import ExposedTool, SkippedWarning, ViewCaller, build
from accord.sources.drf.naming import mcp_tool, mcp_viewset
from accord.sources.drf.routes import ViewRoutes, routes_of

del django, rest_framework

__all__ = [
    "ExposedTool",
    "SkippedWarning",
    "ViewCaller",
    "ViewRoutes",
    "build",
    "mcp_tool",
    "mcp_viewset",
    "routes_of",
]
