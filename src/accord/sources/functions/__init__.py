"""Python functions as tools."""

from accord.sources.functions.build import Options, function_tool

__all__ = ["Options", "function_tool"]
