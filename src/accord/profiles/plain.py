"""`plain`: data as JSON text, a failure as `Error executing tool: <message> <remediation>`."""

from accord.model.answer import Answer, Problem, Value
from accord.profiles.profile import (
    Profile,
    RenderContext,
    Result,
    TextResult,
    add_details,
    as_data,
    data_schema,
    failure_result,
    has_details,
    is_empty,
    with_blocks,
)


def success(answer: Answer[Value], context: RenderContext) -> TextResult | Result:
    """Return one text block, its JSON also as structure; no `isError`."""
    data, blocks, has_more = answer.data, answer.blocks, has_details(answer)
    rendered = as_data(data if isinstance(data, str) else data.json.decode(), answer, context)
    if not blocks and not has_more:
        return rendered
    result = with_blocks(rendered, blocks, context, replaces_text=is_empty(answer, context.tool))
    if has_more:
        add_details(result, answer)
    return result


def failure(problem: Problem, context: RenderContext) -> Result:
    """Return one text block with the reason and the remediation, and `isError`."""
    return failure_result("Error executing tool", problem)


PROFILE = Profile("plain", success, failure, data_schema)
