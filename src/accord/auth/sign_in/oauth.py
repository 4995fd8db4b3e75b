"""The requests of OAuth 2.1 and their replies, as values: PKCE, authorization, tokens, errors."""

import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast, get_args
from urllib.parse import parse_qsl, quote, quote_plus, urlencode, urlsplit, urlunsplit

import msgspec

from accord.auth.fetch import bare
from accord.auth.sign_in.grant import AuthMethod, Registration, union
from accord.auth.sign_in.metadata import ResourceMetadata, ServerMetadata
from accord.errors import SignInError

CLIENT_NAME: Final = "Accord"
OFFLINE: Final = "offline_access"
_MAX_QUOTED: Final = 200  # characters of a server's text in an error message
_MAX_SCOPES: Final = 100  # of the metadata
_MAX_PARAMS: Final = 50  # of an authorization response


class OAuthError(SignInError):
    """An authorization server refused a request, with an error code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class AuthorizationRequest(msgspec.Struct, frozen=True):
    """One authorization request, and what its response is checked against."""

    url: str
    """The page to open in a browser."""
    issuer: str
    state: str
    verifier: str
    redirect_uri: str
    requires_issuer: bool = False

    def __repr__(self) -> str:
        return f"AuthorizationRequest(issuer={self.issuer!r})"


def authorization_request(
    server: ServerMetadata,
    registration: Registration,
    redirect_uri: str,
    scopes: Sequence[str],
    resource: str | None,
) -> AuthorizationRequest:
    """Return a new authorization request with PKCE (S256) and a state of its own."""
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    params = {
        "response_type": "code",
        "client_id": registration.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": code_challenge(verifier),
        "code_challenge_method": "S256",
    }
    if scopes:
        params["scope"] = " ".join(scopes)
    if OFFLINE in scopes:  # OpenID Connect, 11: it is ignored without
        params["prompt"] = "consent"
    if resource is not None:
        params["resource"] = resource
    parts = urlsplit(server.authorization_endpoint or "")
    query = "&".join(filter(None, [parts.query, urlencode(params, quote_via=quote)]))
    return AuthorizationRequest(
        url=urlunsplit(parts._replace(query=query)),
        issuer=server.issuer,
        state=state,
        verifier=verifier,
        redirect_uri=redirect_uri,
        requires_issuer=server.authorization_response_iss_parameter_supported is True,
    )


def code_challenge(verifier: str) -> str:
    """Return the challenge of a verifier (RFC 7636, S256)."""
    from hashlib import sha256

    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def read_redirect(query: str, request: AuthorizationRequest) -> str | None:
    """Return the code of an authorization response; None if it belongs to another request.

    Raises SignInError if the server reports an error, or is not the one that was asked (RFC 9207).
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMS)
    except ValueError:
        return None
    params = dict(pairs)
    if not secrets.compare_digest(params.get("state", "").encode(), request.state.encode()):
        return None
    if len(params) != len(pairs):
        raise SignInError("the authorization response repeats a parameter")
    _require_issuer(params.get("iss"), request)
    if "error" in params:
        raise oauth_error(f"{bare(request.issuer)} refused the sign-in", params)
    if not params.get("code"):
        raise SignInError("the authorization response has no code")
    return params["code"]


def read_pasted(text: str, request: AuthorizationRequest) -> str:
    """Return the code of what a person has pasted: the URL of the redirect, or the code itself."""
    pasted = text.strip()
    if not pasted:
        raise SignInError("no code was entered")
    if "code=" in pasted or "error=" in pasted:
        code = read_redirect(urlsplit(pasted).query or pasted.partition("?")[2], request)
        if code is None:
            raise SignInError("the pasted URL belongs to another sign-in")
        return code
    if request.requires_issuer:
        raise SignInError("paste the whole URL that the browser was sent to, not only the code")
    return pasted


def _require_issuer(issuer: str | None, request: AuthorizationRequest) -> None:
    """Raise unless the response is from the issuer, compared as text without normalisation."""
    if issuer is None and request.requires_issuer:
        raise SignInError(f"the authorization response does not name its issuer, {request.issuer}")
    if issuer is not None and issuer != request.issuer:
        raise SignInError(
            f"the authorization response is from the issuer {bare(issuer)}, and not from"
            f" {bare(request.issuer)}"
        )


def select_scopes(
    challenged: Sequence[str],
    resource: ResourceMetadata | None,
    server: ServerMetadata,
    further: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the scopes to request: those of the challenge, else all that the resource names.

    `further` scopes are added. `offline_access` is requested where the server supports it, and
    nowhere else; a request without scopes stays without.
    """
    named = (resource and resource.scopes_supported) or ()
    scopes = union(further, challenged or named[:_MAX_SCOPES])
    scopes = tuple(scope for scope in scopes if scope != OFFLINE)
    return (*scopes, OFFLINE) if scopes and supports_offline(server) else scopes


def supports_offline(server: ServerMetadata) -> bool:
    """True if the server has refresh tokens for the scope `offline_access`."""
    grants = server.grant_types_supported
    return OFFLINE in (server.scopes_supported or ()) and (
        grants is None or "refresh_token" in grants
    )


def registration_body(
    server: ServerMetadata, redirect_uri: str, scopes: Sequence[str]
) -> dict[str, Any]:
    """Return the body of a registration request (RFC 7591)."""
    body: dict[str, Any] = {
        "client_name": CLIENT_NAME,
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": auth_method(server, has_secret=None),
    }
    return {**body, "scope": " ".join(scopes)} if scopes else body


class _Registered(msgspec.Struct, frozen=True):
    """The reply to a registration request."""

    client_id: str
    client_secret: str | None = None
    token_endpoint_auth_method: str | None = None


def read_registration(
    body: bytes, server: ServerMetadata, redirect_uri: str, scopes: Sequence[str]
) -> Registration:
    """Return this client as it has been registered."""
    try:
        found = msgspec.json.decode(body, type=_Registered)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise SignInError(f"{bare(server.issuer)} registered no client") from None
    stated = found.token_endpoint_auth_method
    method = auth_method(server, has_secret=found.client_secret is not None, stated=stated)
    return Registration(
        issuer=server.issuer,
        client_id=found.client_id,
        client_secret=found.client_secret,
        auth_method=method,
        redirect_uri=redirect_uri,
        scopes=tuple(scopes),
        is_dynamic=True,
    )


def auth_method(
    server: ServerMetadata, *, has_secret: bool | None, stated: str | None = None
) -> AuthMethod:
    """Return how to authenticate at the token endpoint: as the server says, in its order.

    `stated` is what it said of this client. `has_secret` is None before a registration, which asks
    for no secret if the server lets it.
    """
    if has_secret is False:
        return "none"
    supported = server.token_endpoint_auth_methods_supported
    if stated is not None:
        supported = (stated,)
    elif supported is None:  # RFC 8414, 2
        supported = ("none",) if has_secret is None else ("client_secret_basic",)
    if has_secret is None and "none" in supported:
        return "none"
    for method in (*(each for each in supported if each != "none"), *supported):
        if method in get_args(AuthMethod):
            return cast("AuthMethod", method)
    raise SignInError(
        f"{bare(server.issuer)} requires a way to authenticate that is not supported:"
        f" {shown(', '.join(supported))}"
    )


def authenticated(
    registration: Registration, form: Mapping[str, str]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return a form and headers by which this client authenticates at the token endpoint.

    The client id is always in the form, where some servers look for it even beside the header.
    """
    secret = registration.client_secret
    own = {"client_id": registration.client_id}
    if registration.auth_method == "client_secret_basic" and secret is not None:
        pair = f"{quote_plus(registration.client_id)}:{quote_plus(secret)}"
        return {**form, **own}, [("authorization", f"Basic {b64encode(pair.encode()).decode()}")]
    if registration.auth_method == "client_secret_post" and secret is not None:
        own["client_secret"] = secret
    return {**form, **own}, []


def read_error(activity: str, status: int, body: bytes) -> SignInError:
    """Return the error of a reply that is not a success."""
    try:
        found = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = {}
    if isinstance(found.get("error"), str):
        return oauth_error(activity, found)
    return SignInError(f"{activity} (HTTP {status})")


def oauth_error(activity: str, params: Mapping[str, Any]) -> OAuthError:
    """Return the error of RFC 6749, 5.2, in one line that quotes the server's words."""
    code, description = str(params.get("error")), params.get("error_description")
    detail = f", {shown(description)!r}" if isinstance(description, str) and description else ""
    return OAuthError(f"{activity}: {shown(code)}{detail}", code)


def shown(text: str) -> str:
    """Return a server's text on one line, without control characters, cut to a maximum length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:2_000]).split())
    return line if len(line) <= _MAX_QUOTED else f"{line[:_MAX_QUOTED]}…"
