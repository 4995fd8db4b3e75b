"""Python functions as tools, prompts, resources and completers.

Read `build` first (what is built), then `introspect` (the function), `parameters` and
`text_parameters` (arguments), `type_hints` (schemas).
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
