"""Python functions as tools."""

from accord.sources.functions.build import function_tool

__all__ = ["function_tool"]
