"""`accord schema`: a published schema as JSON, complete or simplified for n8n."""

import json
import subprocess
from pathlib import Path

import pytest

from accord.model import schemas
from cli.command import (
    ACCORD,
    ENVIRONMENT,
    EXAMPLES,
    Done,
    accord,
    accord_each,
    assert_one_line_of_misuse,
)

PRINTED: dict[str, tuple[list[str], object]] = {
    **{name: (["schema", name], schemas.load(name)) for name in schemas.NAMES},
    "by the profile": (["schema", "envelope"], schemas.load("response-v2")),
    "for n8n": (
        ["schema", "plain", "--for", "n8n"],
        schemas.for_n8n(schemas.load("plain")),
    ),
    **{
        f"{name}, wrapped": (
            ["schema", name, "--wrapped"],
            {"name": "response_v2", "strict": False, "schema": schemas.load("response-v2")},
        )
        for name in ("response-v2", "envelope")
    },
    "both": (
        ["schema", "--wrapped", "--for", "n8n", "generic"],
        {
            "name": "generic_mcp_response",
            "strict": False,
            "schema": schemas.for_n8n(schemas.load("generic")),
        },
    ),
}
MISUSE: dict[str, tuple[list[str], list[str]]] = {
    "no name": (["schema"], ["NAME"]),
    "an unknown name": (["schema", "v2"], ["v2", *schemas.NAMES, "envelope"]),
    "two names": (["schema", "plain", "bare"], ["bare"]),
    "an unknown reader": (["schema", "plain", "--for", "zapier"], ["zapier", "n8n"]),
}


@pytest.fixture(scope="module")
def done() -> dict[str, Done]:
    return accord_each({name: words for name, (words, _) in (PRINTED | MISUSE).items()})


@pytest.mark.parametrize("name", PRINTED)
def test_it_prints_the_schema_indented(done: dict[str, Done], name: str) -> None:
    expected = json.dumps(PRINTED[name][1], indent=2) + "\n"
    assert done[name] == (0, expected, "")


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_one_line_and_exit_code_2(done: dict[str, Done], name: str) -> None:
    assert_one_line_of_misuse(done[name], *MISUSE[name][1])


def test_help_has_examples_that_work() -> None:
    path = {"PATH": f"{Path(ACCORD).parent}:{ENVIRONMENT['PATH']}"}
    for line in accord("schema", "--help").out.split("Examples:\n")[1].splitlines():
        ran = subprocess.run(
            ["sh", "-c", line.strip()], cwd=EXAMPLES, env=ENVIRONMENT | path, capture_output=True
        )
        assert ran.returncode == 0, (line, ran.stderr)
        json.loads(ran.stdout)
