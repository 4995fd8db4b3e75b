"""`plain`: data as JSON text, a failure as `Error executing tool: <message> <remediation>`."""

from accord.model.answer import Answer, Problem, Value
from accord.profiles.details import with_details
from accord.profiles.output_schemas import data_schema
from accord.profiles.profile import (
    Profile,
    RenderContext,
    Result,
    TextResult,
    as_data,
    failure_result,
    has_details,
    is_empty,
    with_blocks,
    with_meta,
)


def success(answer: Answer[Value], context: RenderContext) -> TextResult | Result:
    """Return one text block, its JSON also as structure; no `isError`."""
    if not has_details(answer):
        return with_data(answer.data, answer, context)
    rendered = with_data(with_details(answer), answer, context)
    result = rendered.to_dict() if isinstance(rendered, TextResult) else rendered
    return with_meta(result, answer)


def with_data(data: Value, answer: Answer[Value], context: RenderContext) -> TextResult | Result:
    """Return the result of an answer with this data, which may include the details."""
    rendered = as_data(data if isinstance(data, str) else data.json.decode(), data, context)
    if not answer.blocks:
        return rendered
    return with_blocks(rendered, answer.blocks, context, replaces_text=is_empty(data, context.tool))


def failure(problem: Problem, context: RenderContext) -> Result:
    """Return one text block with the reason and the remediation, and `isError`."""
    return failure_result("Error executing tool", problem)


PROFILE = Profile("plain", success, failure, data_schema)
