"""`WWW-Authenticate` as servers send it: parsed leniently, in linear time."""

import string
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.auth.sign_in.challenge import Challenge, bearer_challenge, parse_challenges

PRM = "https://h/.well-known/oauth-protected-resource/mcp"
TOKENS = st.text(string.ascii_letters + string.digits + "!#$%&'*+.^_`|~-", min_size=1)
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126))


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Bearer", [("bearer", {})]),
        ('Bearer realm="x"', [("bearer", {"realm": "x"})]),
        (
            f'Bearer resource_metadata="{PRM}", scope="a b"',
            [("bearer", {"resource_metadata": PRM, "scope": "a b"})],
        ),
        ('BEARER Error="invalid_token"', [("bearer", {"error": "invalid_token"})]),
        ("Bearer error=invalid_token,scope=a", [("bearer", {"error": "invalid_token", "scope": "a"})]),
        (
            'Basic realm="a, Bearer b", Bearer scope="c"',
            [("basic", {"realm": "a, Bearer b"}), ("bearer", {"scope": "c"})],
        ),
        (
            "Negotiate YWJj==, Bearer scope=a, DPoP algs=ES256",
            [("negotiate", {}), ("bearer", {"scope": "a"}), ("dpop", {"algs": "ES256"})],
        ),
        (r'Bearer error_description="a \"quoted\" \\ word"', [("bearer", {"error_description": 'a "quoted" \\ word'})]),
        ('Bearer scope = "a" , error = x', [("bearer", {"scope": "a", "error": "x"})]),
        ('Bearer scope="a", scope="b"', [("bearer", {"scope": "a"})]),
        (f"Bearer resource_metadata={PRM}", [("bearer", {"resource_metadata": PRM})]),
        (',, Bearer ,scope="a",,', [("bearer", {"scope": "a"})]),
        ('Bearer scope="never closed, x=y', [("bearer", {"scope": "never closed, x=y"})]),
        ('Bearer scope=""', [("bearer", {"scope": ""})]),
        ('scope="without a scheme"', []),
        ("", []),
        ("@@@, \x00", []),
    ],
)  # fmt: skip
def test_challenges_are_found(header: str, found: list[tuple[str, dict[str, str]]]) -> None:
    assert [(each.scheme, each.params) for each in parse_challenges([header])] == found


@pytest.mark.parametrize(
    ("headers", "scopes"),
    [
        (['Bearer scope="a"', f'Bearer scope="b", resource_metadata="{PRM}"'], ("b",)),
        (['Basic realm="x"', 'Bearer scope="a  b"'], ("a", "b")),
        (['Bearer scope="a"', 'Bearer scope="b"'], ("a",)),
        (['Bearer x="open', 'Bearer scope="a"'], ()),
        (['Basic realm="x"'], None),
        ([], None),
    ],
)
def test_the_bearer_challenge_that_names_metadata_is_preferred(
    headers: list[str], scopes: tuple[str, ...] | None
) -> None:
    found = bearer_challenge(headers)
    assert (None if found is None else found.scopes) == scopes


@given(st.lists(st.tuples(TOKENS, st.dictionaries(TOKENS.map(str.lower), VALUES, min_size=1))))
def test_what_is_written_by_the_grammar_is_read(given_: list[tuple[str, dict[str, str]]]) -> None:
    header = ", ".join(
        f"{scheme} " + ", ".join(f"{name}={quoted(value)}" for name, value in params.items())
        for scheme, params in given_
    )
    assert parse_challenges([header]) == [
        Challenge(scheme.lower(), params) for scheme, params in given_
    ]


@given(st.text())
def test_any_text_is_read_without_an_error(header: str) -> None:
    for challenge in parse_challenges([header]):
        assert challenge.scheme == challenge.scheme.lower()
        assert all(name == name.lower() for name in challenge.params)


@pytest.mark.parametrize("unit", ['"', "a=", "a ", ",", '\\"', "a" * 8, " ", 'a="\\', "a=b c,"])
def test_a_hostile_header_takes_no_longer_than_its_length(unit: str) -> None:
    began = process_time()
    for header in (unit * 100_000, f"Bearer {unit * 100_000}", f'Bearer x="{unit * 100_000}'):
        parse_challenges([header])
    assert process_time() - began < 1.0


def quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
