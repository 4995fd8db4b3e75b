"""`plain`: the data as JSON text, a failure as `Error executing tool: <message>`."""

from accord.answer import Answer, Problem, Said
from accord.profiles.parts import add_beside, add_structure, block, data_schema, text
from accord.profiles.profile import Profile, Result
from accord.revisions import Revision
from accord.tool import Tool


def success(answer: Answer[Said], tool: Tool, revision: Revision) -> Result:
    """One text block, its JSON also as structure; no `isError`."""
    data = answer.data
    if isinstance(data, str):
        result: Result = {"content": [text(data)]}
    elif answer.blocks and data.json == b"null" and tool.output_schema is None:
        result = {"content": []}  # the blocks are all there is to say
    else:
        result = {"content": [text(data.json.decode())]}
        add_structure(result, data.json, tool, revision)
    for content in answer.blocks:
        result["content"].append(block(content, revision))
    add_beside(result, answer)
    return result


def failure(problem: Problem, tool: Tool, revision: Revision) -> Result:
    """One text block that says why, and `isError`."""
    return {"content": [text(f"Error executing tool: {problem.message}")], "isError": True}


PROFILE = Profile("plain", success, failure, data_schema)
