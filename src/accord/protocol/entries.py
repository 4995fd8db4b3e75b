"""Entries of tools, prompts and resources in lists, for each revision."""

from typing import Any, Final

import msgspec

from accord.model.arguments import JsonSchema
from accord.model.prompt import Argument, Prompt
from accord.model.resource import Listed, Resource
from accord.model.response import TAGS_KEY
from accord.model.tool import Tool
from accord.model.values import known
from accord.protocol.results import Result
from accord.revisions import Revision

_HINT_NAMES: Final = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


def tool_entry(tool: Tool, output_schema: JsonSchema | None, revision: Revision) -> Result:
    """Return the entry of a tool in `tools/list`."""
    entry: Result = {"name": tool.name}
    if tool.title is not None and revision.titles:
        entry["title"] = tool.title
    entry |= {"description": tool.description, "inputSchema": tool.input_schema}
    if output_schema is not None:
        entry["outputSchema"] = output_schema
    hints = _hints(tool) if revision.annotations else {}
    if hints:
        entry["annotations"] = hints
    return entry | _with_details(tool, revision)


def prompt_entry(prompt: Prompt, revision: Revision) -> Result:
    """Return the entry of a prompt in `prompts/list`."""
    arguments = [_argument(each) for each in prompt.arguments]
    entry = known(
        name=prompt.name,
        title=prompt.title if revision.titles else None,
        description=prompt.description or None,
        arguments=arguments or None,
    )
    return entry | _with_details(prompt, revision)


def resource_entry(resource: Resource, revision: Revision) -> Result:
    """Return the entry of a resource, or of a template in `resources/templates/list`."""
    is_static = resource.is_static
    entry = known(
        **{"uri" if is_static else "uriTemplate": resource.uri},
        name=resource.name,
        title=resource.title if revision.titles else None,
        description=resource.description or None,
        mimeType=resource.mime_type,
        size=resource.size if is_static else None,
        annotations=resource.annotations,
    )
    return entry | _with_details(resource, revision)


def listed_entry(listed: Listed, template: Resource) -> Result:
    """Return the entry of a resource of a template."""
    return known(
        uri=listed.uri,
        name=listed.name,
        description=listed.description or None,
        mimeType=template.mime_type,
    )


def _argument(argument: Argument) -> Result:
    required = True if argument.required else None
    return known(name=argument.name, description=argument.description, required=required)


def _hints(tool: Tool) -> dict[str, Any]:
    given = msgspec.structs.asdict(tool.hints)
    hints = {wire: given[name] for name, wire in _HINT_NAMES.items() if given[name] is not None}
    return {"title": tool.title, **hints} if tool.title is not None else hints


def _with_details(feature: Tool | Prompt | Resource, revision: Revision) -> dict[str, Any]:
    icons, meta = feature.icons, feature.meta
    if feature.tags:
        meta = {**(meta or {}), TAGS_KEY: sorted(feature.tags)}
    return known(
        icons=icons if icons and revision.icons else None,
        _meta=meta if revision.metadata else None,
    )
