"""`plain`: the data as JSON text, a failure as `Error executing tool: <message>`."""

from accord.answer import Answer, Problem, Said
from accord.content import text
from accord.profiles.parts import (
    add_beside,
    add_structure,
    data_schema,
    has_beside,
    says_nothing,
    with_blocks,
)
from accord.profiles.profile import Profile, Result, Setting


def success(answer: Answer[Said], setting: Setting) -> Result:
    """One text block, its JSON also as structure; no `isError`."""
    data, blocks = answer.data, answer.blocks
    words = data if isinstance(data, str) else data.json.decode()
    if blocks:
        is_all = says_nothing(answer, setting.tool)
        result = with_blocks(None if is_all else words, blocks, setting.revision)
    else:
        result = {"content": [{"type": "text", "text": words}]}
    add_structure(result, answer, setting)
    if has_beside(answer):
        add_beside(result, answer)
    return result


def failure(problem: Problem, setting: Setting) -> Result:
    """One text block that says why, and `isError`."""
    return {"content": [text(f"Error executing tool: {problem.message}")], "isError": True}


PROFILE = Profile("plain", success, failure, data_schema)
