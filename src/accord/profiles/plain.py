"""`plain`: the data as JSON text, a failure as `Error executing tool: <message>`."""

from accord.answer import Answer, Problem, Said
from accord.profiles.parts import block, data_schema, structured, text, with_beside
from accord.profiles.profile import Profile, Result
from accord.revisions import Revision
from accord.tool import Tool


def success(answer: Answer[Said], tool: Tool, revision: Revision) -> Result:
    """One text block, its JSON also as structure; no `isError`."""
    if isinstance(answer.data, str):
        result: Result = {"content": [text(answer.data)]}
    else:
        json = answer.data.json
        result = {"content": [text(json.decode())]} | structured(json, tool, revision)
    for content in answer.blocks:
        result["content"].append(block(content, revision))
    return with_beside(result, answer)


def failure(problem: Problem, tool: Tool, revision: Revision) -> Result:
    """One text block that says why, and `isError`."""
    result: Result = {"content": [text(f"Error executing tool: {problem.message}")]}
    return with_beside(result, problem) | {"isError": True}


PROFILE = Profile("plain", success, failure, data_schema)
