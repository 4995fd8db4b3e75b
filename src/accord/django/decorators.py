"""The decorators of views, under the module name of django-rest-framework-mcp."""

from accord.sources.drf import mcp_tool, mcp_viewset

__all__ = ["mcp_tool", "mcp_viewset"]
