"""Python functions as tools, prompts, resources and completers.

Read `build` first, then `introspect` (the function), `parameters` (its arguments) and `type_hints`
(their schemas).
"""

from accord.sources.functions.build import (
    Options,
    PromptOptions,
    ResourceOptions,
    function_completer,
    function_prompt,
    function_resource,
    function_tool,
)

__all__ = [
    "Options",
    "PromptOptions",
    "ResourceOptions",
    "function_completer",
    "function_prompt",
    "function_resource",
    "function_tool",
]
