"""Requests and replies of OAuth as values."""

from base64 import b64encode
from time import time
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.auth.sign_in.grant import Grant, Registration, Tokens, read_tokens
from accord.auth.sign_in.metadata import ResourceMetadata, ServerMetadata
from accord.auth.sign_in.oauth import (
    AuthorizationRequest,
    OAuthError,
    auth_method,
    authenticated,
    authorization_request,
    code_challenge,
    read_error,
    read_pasted,
    read_redirect,
    registration_body,
    select_scopes,
    shown,
)
from accord.errors import SignInError

ISSUER = "https://as.example/t1"
REDIRECT = "http://127.0.0.1:5000/callback"
CLIENT = Registration(issuer=ISSUER, client_id="me")
SERVER = ServerMetadata(issuer=ISSUER, authorization_endpoint="https://as.example/a?tenant=1")


def request(**changes: Any) -> AuthorizationRequest:
    made = authorization_request(SERVER, CLIENT, REDIRECT, ["a", "b"], "https://h/mcp")
    return msgspec.structs.replace(made, state="s", **changes)


def test_rfc_7636_appendix_b_the_challenge_is_of_the_verifier() -> None:
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert code_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_an_authorization_request_has_all_that_the_revisions_require() -> None:
    made = authorization_request(SERVER, CLIENT, REDIRECT, ["a", "offline_access"], "https://h/mcp")
    params = parse_qs(urlsplit(made.url).query)
    assert params == {
        "tenant": ["1"],
        "response_type": ["code"],
        "client_id": ["me"],
        "redirect_uri": [REDIRECT],
        "state": [made.state],
        "code_challenge": [code_challenge(made.verifier)],
        "code_challenge_method": ["S256"],
        "scope": ["a offline_access"],
        "prompt": ["consent"],
        "resource": ["https://h/mcp"],
    }
    assert 43 <= len(made.verifier) <= 128
    again = authorization_request(SERVER, CLIENT, REDIRECT, [], None)
    assert (again.state, again.verifier) != (made.state, made.verifier)
    assert {"scope", "resource", "prompt"}.isdisjoint(parse_qs(urlsplit(again.url).query))


CODE = {"code": "c", "state": "s"}


@pytest.mark.parametrize(
    ("params", "requires_issuer", "outcome"),
    [
        (CODE, False, "c"),
        ({**CODE, "iss": ISSUER}, True, "c"),
        ({**CODE, "iss": ISSUER}, False, "c"),
        (CODE, True, "does not name its issuer"),
        ({**CODE, "iss": f"{ISSUER}/"}, False, "is from the issuer"),
        ({**CODE, "iss": ISSUER.upper()}, True, "is from the issuer"),
        ({**CODE, "iss": ""}, True, "is from the issuer"),
        ({**CODE, "state": "other"}, False, None),
        ({"code": "c"}, False, None),
        ({}, False, None),
        ({"error": "access_denied", "state": "s"}, False, "refused the sign-in: access_denied"),
        ({"error": "access_denied", "error_description": "No \x1b[2J way", "state": "s"}, False, r"access_denied, 'No \[2J way'"),
        ({"error": "access_denied", "state": "s"}, True, "does not name its issuer"),
        ({"error": "access_denied"}, False, None),
        ({"state": "s"}, False, "has no code"),
        ({"state": "s", "code": ""}, False, "has no code"),
    ],
)  # fmt: skip
def test_rfc_9207_2_4_and_rfc_6749_4_1_2_an_authorization_response_is_checked(
    params: dict[str, str], requires_issuer: bool, outcome: str | None
) -> None:
    asked = request(requires_issuer=requires_issuer)
    query = urlencode(params)
    if outcome is None or " " not in outcome:
        assert read_redirect(query, asked) == outcome
    else:
        with pytest.raises(SignInError, match=outcome):
            read_redirect(query, asked)


def test_a_repeated_parameter_is_refused() -> None:
    with pytest.raises(SignInError, match="repeats"):
        read_redirect("state=s&code=a&code=b", request())


@given(st.text(), st.booleans())
def test_no_query_without_the_state_has_an_effect(text: str, requires_issuer: bool) -> None:
    asked = msgspec.structs.replace(
        request(requires_issuer=requires_issuer), state="unguessable-4711"
    )
    assert read_redirect(text, asked) is None
    assert read_redirect(text + "&a=b" * 60 + "&state=unguessable-4711&code=c", asked) is None


@pytest.mark.parametrize(
    ("pasted", "requires_issuer", "outcome"),
    [
        (f"{REDIRECT}?code=c&state=s\n", False, "c"),
        ("code=c&state=s", False, "belongs to another sign-in"),
        ("?code=c&state=s", False, "c"),
        (f"{REDIRECT}?code=c&state=x", False, "belongs to another sign-in"),
        (f"{REDIRECT}?error=access_denied&state=s", False, "access_denied"),
        ("  c  ", False, "c"),
        ("c", True, "paste the whole URL"),
        ("", False, "no code"),
    ],
)
def test_a_pasted_url_is_checked_as_a_redirect(
    pasted: str, requires_issuer: bool, outcome: str
) -> None:
    asked = request(requires_issuer=requires_issuer)
    if len(outcome) == 1:
        assert read_pasted(pasted, asked) == outcome
    else:
        with pytest.raises(SignInError, match=outcome):
            read_pasted(pasted, asked)


def resource(*scopes: str) -> ResourceMetadata:
    return ResourceMetadata("https://h/mcp", ("https://a",), scopes or None)


@pytest.mark.parametrize(
    ("challenged", "named", "server", "further", "found"),
    [
        (["a"], resource("b", "c"), {}, [], "a"),
        ([], resource("b", "c"), {}, [], "b c"),
        ([], resource(), {}, [], ""),
        ([], None, {}, [], ""),
        (["a"], None, {}, ["w", "a"], "w a"),
        ([], resource("b"), {}, ["w"], "w b"),
        (["a"], None, {"scopes_supported": ("a", "offline_access")}, [], "a offline_access"),
        (["a"], None, {"scopes_supported": ("a",)}, [], "a"),
        (["a", "offline_access"], None, {"scopes_supported": ("a",)}, [], "a"),
        ([], resource("offline_access", "b"), {}, [], "b"),
        ([], None, {"scopes_supported": ("offline_access",)}, [], ""),
        (["a"], None, {"scopes_supported": ("offline_access",), "grant_types_supported": ("authorization_code",)}, [], "a"),
    ],
)  # fmt: skip
def test_scopes_are_those_of_the_challenge_else_of_the_resource_else_none(
    challenged: list[str],
    named: ResourceMetadata | None,
    server: dict[str, Any],
    further: list[str],
    found: str,
) -> None:
    metadata = ServerMetadata(issuer=ISSUER, **server)
    assert " ".join(select_scopes(challenged, named, metadata, further)) == found


@pytest.mark.parametrize(
    ("supported", "has_secret", "stated", "method"),
    [
        (None, True, None, "client_secret_basic"),
        (None, False, None, "none"),
        (None, None, None, "none"),
        (("none",), True, None, "none"),
        (("client_secret_post",), True, None, "client_secret_post"),
        (("client_secret_post", "client_secret_basic"), True, None, "client_secret_post"),
        (("client_secret_basic", "client_secret_post"), True, None, "client_secret_basic"),
        (("none", "tls_client_auth", "client_secret_post"), True, None, "client_secret_post"),
        (("client_secret_basic", "none"), None, None, "none"),
        (("client_secret_basic",), None, None, "client_secret_basic"),
        (("client_secret_basic",), True, "client_secret_post", "client_secret_post"),
        (("private_key_jwt",), True, None, None),
        (("private_key_jwt",), None, None, None),
    ],
)
def test_a_way_to_authenticate_is_chosen_among_those_of_the_server(
    supported: tuple[str, ...] | None, has_secret: bool | None, stated: str | None, method: str
) -> None:
    server = ServerMetadata(issuer=ISSUER, token_endpoint_auth_methods_supported=supported)
    if method is None:
        with pytest.raises(SignInError, match="private_key_jwt"):
            auth_method(server, has_secret=has_secret, stated=stated)
    else:
        assert auth_method(server, has_secret=has_secret, stated=stated) == method


@pytest.mark.parametrize(
    ("method", "form", "headers"),
    [
        ("none", {"a": "b", "client_id": "me:1"}, []),
        ("client_secret_post", {"a": "b", "client_id": "me:1", "client_secret": "s/ü"}, []),
        ("client_secret_basic", {"a": "b", "client_id": "me:1"}, [("authorization", "Basic " + b64encode(f"me%3A1:{quote('s/ü', safe='')}".encode()).decode())]),
    ],
)  # fmt: skip
def test_rfc_6749_2_3_1_the_client_authenticates(
    method: Any, form: dict[str, str], headers: list[tuple[str, str]]
) -> None:
    client = Registration(ISSUER, "me:1", "s/ü", method)
    assert authenticated(client, {"a": "b"}) == (form, headers)


def test_a_registration_is_of_a_native_client_that_renews_its_tokens() -> None:
    body = registration_body(ServerMetadata(issuer=ISSUER), REDIRECT, ["a", "b"])
    assert body == {
        "client_name": "Accord",
        "application_type": "native",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": "a b",
    }
    assert "scope" not in registration_body(ServerMetadata(issuer=ISSUER), REDIRECT, [])


@pytest.mark.parametrize(
    ("reply", "lifetime", "scopes"),
    [
        ({"access_token": "t", "token_type": "Bearer", "expires_in": 60}, 60, ("r",)),
        ({"access_token": "t", "token_type": "bearer", "expires_in": "60"}, 60, ("r",)),
        ({"access_token": "t", "scope": "a b"}, None, ("a", "b")),
        ({"access_token": "t", "scope": ""}, None, ()),
        ({"access_token": "t", "expires_in": 0}, None, ("r",)),
        ({"access_token": "t", "expires_in": -5}, None, ("r",)),
        ({"access_token": "t", "expires_in": "soon"}, None, ("r",)),
        ({"access_token": "t", "expires_in": 1e300}, None, ("r",)),
        ({"access_token": "t", "refresh_token": ""}, None, ("r",)),
    ],
)
def test_rfc_6749_5_1_tokens_are_read(
    reply: dict[str, Any], lifetime: float | None, scopes: tuple[str, ...]
) -> None:
    tokens = read_tokens(msgspec.json.encode(reply), ("r",))
    assert (tokens.access_token, tokens.refresh_token, tokens.scopes) == ("t", None, scopes)
    left = None if tokens.expires_at is None else tokens.expires_at - time()
    assert left == (None if lifetime is None else pytest.approx(lifetime, abs=5))


@pytest.mark.parametrize(
    "reply",
    [b"", b"[]", b"{}", b'{"access_token": 1}', b'{"access_token": ""}', b"\xff",
     b'{"access_token": "a b"}', b'{"access_token": "a\\r\\nX: y"}', b'{"access_token": "\xc3\xbc"}',
     b'{"access_token": "s3cret", "token_type": "mac"}'],
)  # fmt: skip
def test_a_token_that_cannot_be_used_is_refused_and_not_shown(reply: bytes) -> None:
    with pytest.raises(SignInError, match="the token endpoint sent") as caught:
        read_tokens(reply, ())
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error": "invalid_grant"}', "it refused: invalid_grant", "invalid_grant"),
        (b'{"error": "x", "error_description": "a\\nb"}', "it refused: x, 'a b'", "x"),
        (b"<html>oh", "it refused (HTTP 400)", None),
        (b'{"error": 5}', "it refused (HTTP 400)", None),
        (b"\xff", "it refused (HTTP 400)", None),
    ],
)
def test_rfc_6749_5_2_an_error_is_one_line(body: bytes, message: str, code: str | None) -> None:
    error = read_error("it refused", 400, body)
    assert str(error) == message
    assert (error.code if isinstance(error, OAuthError) else None) == code


@given(st.text())
def test_words_of_a_server_are_quoted_on_one_short_line(text: str) -> None:
    assert shown(text).isprintable()
    assert len(shown(text)) <= 201


def test_no_secret_is_in_a_repr() -> None:
    tokens = Tokens("s3cret-1", "s3cret-2", 5.0)
    client = Registration(ISSUER, "me", "s3cret-3", "client_secret_post")
    grant = Grant("https://h/mcp", ISSUER, "https://as.example/token", client, tokens)
    for value in (tokens, client, grant, [grant], request(verifier="s3cret-4")):
        assert "s3cret" not in f"{value} {value!r}"
