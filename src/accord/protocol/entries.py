"""Entries of tools, prompts and resources in lists, for each revision."""

from typing import Any, Final

import msgspec

from accord.model.arguments import JsonSchema
from accord.model.prompt import Argument, Prompt
from accord.model.resource import Listed, Resource
from accord.model.response import GATEWAY_KEY, TAGS_KEY
from accord.model.tool import Foreign, Tool
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
    if tool.foreign is not None:
        listed = foreign_entry(tool.foreign, tool.name, revision)
        listed["inputSchema"] = tool.input_schema
        return listed if output_schema is None else {**listed, "outputSchema": output_schema}
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
    if prompt.foreign is not None:
        return foreign_entry(prompt.foreign, prompt.name, revision)
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
    if resource.foreign is not None:
        key = "uri" if is_static else "uriTemplate"
        return foreign_entry(resource.foreign, resource.uri, revision, key=key)
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


def foreign_entry(foreign: Foreign, name: str, revision: Revision, *, key: str = "name") -> Result:
    """Return the entry of another server's feature as a revision has it, with `key` replaced."""
    has = {
        "title": revision.titles,
        "icons": revision.icons,
        "annotations": revision.annotations or key != "name",
        "_meta": revision.metadata,
        "execution": False,
        "outputSchema": False,
    }
    found = {member: each for member, each in foreign.entry.items() if has.get(member, True)}
    if foreign.is_stale and revision.metadata:
        found["_meta"] = {**found.get("_meta", {}), GATEWAY_KEY: {"status": "unavailable"}}
    return found | {key: name}


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
