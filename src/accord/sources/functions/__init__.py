"""Python functions as tools, prompts, resources and completions."""

from accord.sources.functions.build import Options, function_tool
from accord.sources.functions.completions import function_completer
from accord.sources.functions.prompts import PromptOptions, function_prompt
from accord.sources.functions.resources import ResourceOptions, function_resource

__all__ = [
    "Options",
    "PromptOptions",
    "ResourceOptions",
    "function_completer",
    "function_prompt",
    "function_resource",
    "function_tool",
]
