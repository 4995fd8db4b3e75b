"""Bad tokens and headers: each is refused with the right status and challenge, and fetches nothing."""

import hashlib
import hmac
import http.client
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from joserfc.jwk import ECKey

import commands
from http_peer import HttpPeer, HttpServer
from token_issuer import ALGORITHMS, AUDIENCE, KEYS, OTHERS, Issuer, encode, public, sign

Make = Callable[[Issuer, str], str]
"""Makes a token for an issuer; the second argument is the URL of a bait."""

INVALID = (401, "invalid_token")
MALFORMED = (400, "invalid_request")
NONE = (401, None)
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
GUARDED = f"{commands.SAMPLES}/guarded.py:server"


def header(key: str = "rsa", /, **changed: Any) -> dict[str, Any]:
    """Return the header of a valid token with changes; a value of `...` leaves a member out."""
    usual = {"alg": ALGORITHMS[key], "typ": "at+jwt", "kid": key}
    return {name: value for name, value in (usual | changed).items() if value is not ...}


def claiming(kid: str = "rsa", **changed: Any) -> Make:
    """A token that the issuer has signed, with other claims."""
    return lambda issuer, bait: issuer.token(kid, **changed)


def with_claims(make: Callable[[Issuer], Any]) -> Make:
    """A token that the issuer has signed, with any payload."""
    return lambda issuer, bait: sign(header(), make(issuer), KEYS["rsa"])


def with_payload(value: Any) -> Make:
    """A token that the issuer has signed, with a payload that has no claims."""
    return with_claims(lambda issuer: value)


def heading(key: str = "rsa", /, **changed: Any) -> Make:
    """A token that the issuer has signed, with another header."""
    return lambda issuer, bait: sign(
        header(key, **changed), issuer.claims(), KEYS[key], ALGORITHMS[key]
    )


def with_header(raw: bytes) -> Make:
    """A token that the issuer has signed, with any header."""
    return lambda issuer, bait: sign(raw, issuer.claims(), KEYS["rsa"], "RS256")


def baited(member: str, value: Callable[[str], Any] = lambda bait: bait) -> Make:
    """A token signed by a stranger, whose header says where to find the stranger's key."""
    return lambda issuer, bait: sign(
        header(**{member: value(bait)}), issuer.claims(), OTHERS["rsa"]
    )


def forged(kid: str) -> Make:
    """A token signed by a stranger's key with the same id."""
    return lambda issuer, bait: sign(header(kid), issuer.claims(), OTHERS[kid])


def secret_of(kid: str, form: str) -> bytes:
    """The issuer's public key, as a confused server would take it for a secret."""
    key = KEYS[kid]
    if form == "jwk":
        return json.dumps(public(key)).encode()
    return bytes(key.as_pem(private=False) if form == "pem" else key.as_der(private=False))


def confused(algorithm: str, kid: str, form: str) -> Make:
    """A token with a HMAC whose secret is the issuer's public key."""

    def make(issuer: Issuer, bait: str) -> str:
        signed = f"{encode(header(kid, alg=algorithm))}.{encode(issuer.claims())}"
        name = f"sha{algorithm[2:]}"
        return f"{signed}.{encode(hmac.digest(secret_of(kid, form), signed.encode(), name))}"

    return make


def changed(change: Callable[[str], str], kid: str = "rsa") -> Make:
    """A valid token with its text changed."""
    return lambda issuer, bait: change(issuer.token(kid))


def part(index: int, value: Callable[[str], str]) -> Callable[[str], str]:
    """Change one of the three parts of a token."""

    def change(token: str) -> str:
        parts = token.split(".")
        parts[index] = value(parts[index])
        return ".".join(parts)

    return change


def unsigned(algorithm: Any) -> Make:
    return lambda issuer, bait: f"{encode(header(alg=algorithm))}.{encode(issuer.claims())}."


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


NOW = int(time.time())
FAR = 10**400

PAYLOADS: dict[str, Any] = {
    "null": None,
    "a list": [],
    "a text": "claims",
    "a number": 1,
    "empty": {},
    "not JSON": b"{",
    "not UTF-8": b'{"iss":"\xff"}',
    "with a lone surrogate": b'{"iss":"\\ud800"}',
    "nothing": b"",
    "nested deeply": json.dumps(deep(900)).encode(),
    "nested too deeply": b"[" * 5_000,
}

NOT_ACCESS: dict[str, list[Any]] = {
    "typ": ["ID", "Refresh", "Offline", "Logout", 1],
    "token_use": ["id", "refresh_token", ["access"]],
    "token_type": ["refresh_token", "N_A", "DPoP"],
}

TOKENS: dict[str, Make] = {
    # No signature, or one that anybody can make
    **{
        f"alg {name!r} without signature": unsigned(name)
        for name in ("none", "None", "NONE", "nOnE", "", "RS256")
    },
    **{
        f"alg {name!r} with a signature": heading(alg=name)
        for name in ("none", "rs256", "RS257", "HS256", "dir", "RSA1_5", "A128KW")
    },
    "alg that is a number": heading(alg=5),
    "alg that is null": heading(alg=None),
    "alg that is a list": heading(alg=["RS256"]),
    "no alg": heading(alg=...),
    **{
        f"{algorithm} with the {kid} key as {form}": confused(algorithm, kid, form)
        for algorithm in ("HS256", "HS384", "HS512")
        for kid, form in (("rsa", "pem"), ("rsa", "der"), ("rsa", "jwk"), ("ec", "pem"))
    },
    "HS256 with an empty secret": lambda issuer, bait: (
        unsigned("HS256")(issuer, bait) + encode(b"\0" * 32)
    ),
    # Signatures of others
    **{f"a stranger's {kid} key with our id": forged(kid) for kid in KEYS},
    "RS256 by the id of the EC key": lambda issuer, bait: sign(
        header("ec", alg="RS256"), issuer.claims(), KEYS["rsa"]
    ),
    "ES256 by the id of the RSA key": lambda issuer, bait: sign(
        header("rsa", alg="ES256"), issuer.claims(), KEYS["ec"], "ES256"
    ),
    "EdDSA by the id of the EC key": lambda issuer, bait: sign(
        header("ec", alg="EdDSA"), issuer.claims(), KEYS["ed"], "EdDSA"
    ),
    "PS256 claimed for an RS256 signature": lambda issuer, bait: sign(
        header(alg="PS256"), issuer.claims(), KEYS["rsa"], "RS256"
    ),
    "RS512 claimed for an RS256 signature": lambda issuer, bait: sign(
        header(alg="RS512"), issuer.claims(), KEYS["rsa"], "RS256"
    ),
    "ES384 claimed for an ES256 signature": lambda issuer, bait: sign(
        header("ec", alg="ES384"), issuer.claims(), KEYS["ec"], "ES256"
    ),
    "another curve with our id": lambda issuer, bait: sign(
        header("ec", alg="ES384"), issuer.claims(), ECKey.generate_key("P-384"), "ES384"
    ),
    "an ES256 signature of zeros": changed(part(2, lambda _: encode(bytes(64))), "ec"),
    "an ES256 signature in DER": changed(
        part(2, lambda _: encode(bytes.fromhex("3006020101020101"))), "ec"
    ),
    "an EdDSA signature of zeros": changed(part(2, lambda _: encode(bytes(64))), "ed"),
    "a signature that is cut": changed(lambda token: token[:-20]),
    "a signature with one bit changed": changed(
        lambda token: token[:-30] + ("A" if token[-30] != "A" else "B") + token[-29:]
    ),
    "a signature that is too long": changed(lambda token: token + "A" * 2_000),
    "a signature with padding": changed(part(2, lambda text: text + "==")),
    "a signature with a letter that is skipped": changed(
        lambda token: f"{token[:-9]}~{token[-9:]}"
    ),
    "claims changed after signing": changed(part(1, lambda claims: encode({"sub": "root"}))),
    "a header changed after signing": changed(part(0, lambda _: encode(header(typ="JWT")))),
    "alg twice, none at last": with_header(b'{"alg":"RS256","kid":"rsa","alg":"none"}'),
    "alg twice, once escaped": with_header(b'{"alg":"RS256","kid":"rsa","\\u0061lg":"HS256"}'),
    "a header in UTF-16": with_header('{"alg":"RS256","kid":"rsa"}'.encode("utf-16")),
    "a header after a byte order mark": with_header(b'\xef\xbb\xbf{"alg":"RS256","kid":"rsa"}'),
    # Key ids
    "an unknown kid": heading("rsa", kid="other"),
    "a kid that is empty": heading(kid=""),
    "a kid that is a path": heading(kid="../../../../dev/null"),
    "a kid that is SQL": heading(kid="x' UNION SELECT 'key"),
    "a kid that is a URL": lambda issuer, bait: sign(
        header(kid=bait), issuer.claims(), OTHERS["rsa"]
    ),
    "a kid that is a number": heading(kid=1),
    "a kid that is a list": heading(kid=["rsa"]),
    "a kid of 8 kB": heading(kid="k" * 8_192),
    "no kid and a stranger's key": lambda issuer, bait: sign(
        header(kid=...), issuer.claims(), OTHERS["rsa"]
    ),
    # Baits
    "jku": baited("jku"),
    "x5u": baited("x5u"),
    "jwk with the stranger's key": baited("jwk", lambda _: public(OTHERS["rsa"])),
    "jwk with a URL": baited("jwk"),
    "x5c": baited("x5c", lambda _: [encode(b"certificate")]),
    "x5t": baited("x5t", lambda _: encode(hashlib.sha256(b"x").digest()[:20])),
    "jku as a file": baited("jku", lambda _: "file:///etc/passwd"),
    "jku of a cloud's metadata": baited("jku", lambda _: "http://169.254.169.254/latest"),
    "iss that is the bait": lambda issuer, bait: issuer.token(iss=bait),
    "iss that is the bait, by the stranger": lambda issuer, bait: sign(
        header(), issuer.claims(iss=bait), OTHERS["rsa"]
    ),
    "jwks_uri as a claim": lambda issuer, bait: sign(
        header(), issuer.claims(jwks_uri=bait), OTHERS["rsa"]
    ),
    "aggregated claims from the bait": lambda issuer, bait: issuer.token(
        aud="x", _claim_sources={"a": {"endpoint": bait}}
    ),
    # Extensions
    "crit": heading(crit=["exp"], exp=1),
    "crit that is empty": heading(crit=[]),
    "crit with an unknown extension": heading(crit=["x"], x=1),
    "crit that is null": heading(crit=None),
    "b64 false": heading(b64=False, crit=["b64"]),
    "b64 false without crit": heading(b64=False),
    "a key-bound token": claiming(cnf={"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}),
    # Types
    **{
        f"typ {name}": heading(typ=name)
        for name in ("dpop+jwt", "logout+jwt", "secevent+jwt", "id+jwt", "JOSE", "", "at+jwt ")
    },
    "typ that is a number": heading(typ=1),
    # Tokens that are not access tokens
    **{
        f"{name} {value!r} in the claims": claiming(**{name: value})
        for name, values in NOT_ACCESS.items()
        for value in values
    },
    **{
        f"an ID token with {name}": claiming(**{name: "MTIzNDU2Nzg5MDEyMzQ1Ng"})
        for name in ("at_hash", "c_hash", "s_hash")
    },
    "an ID token with a nonce": claiming(nonce="n-0S6_WzA2Mj", scope=...),
    # Audiences
    **{
        f"aud {name}": claiming(aud=value)
        for name, value in {
            "of another server": "https://other.example.com/mcp",
            "with a slash more": AUDIENCE + "/",
            "in capitals": AUDIENCE.upper(),
            "that is a part": AUDIENCE[:-1],
            "that ours is a part of": AUDIENCE + "x",
            "that is empty": "",
            "that is an empty list": [],
            "list of others": ["https://a.example", "https://b.example"],
            "with ours inside a list": [[AUDIENCE]],
            "with ours as a key": {AUDIENCE: True},
            "that is null": None,
            "that is a number": 7,
            "that is true": True,
            "with a space": f"{AUDIENCE} https://other.example.com",
            "left out": ...,
        }.items()
    },
    "aud twice, of another server at last": with_claims(
        lambda issuer: json.dumps(issuer.claims())[:-1].encode() + b',"aud":"https://o.example"}'
    ),
    # Issuers
    **{
        f"iss {name}": claiming(iss=value)
        for name, value in {
            "of another": "https://evil.example",
            "that is a list": ["x"],
            "that is null": None,
            "that is empty": "",
            "left out": ...,
        }.items()
    },
    "iss with a slash more": lambda issuer, bait: issuer.token(iss=issuer.url + "/"),
    "iss with another port": lambda issuer, bait: issuer.token(iss="http://127.0.0.1:1"),
    "iss by the name of the host": lambda issuer, bait: issuer.token(
        iss=f"http://localhost:{issuer.port}"
    ),
    # Time
    **{
        f"exp {name}": claiming(exp=value)
        for name, value in {
            "an hour ago": NOW - 3_600,
            "beyond the leeway": NOW - 62,
            "of 1970": 0,
            "below zero": -1,
            "left out": ...,
            "that is null": None,
            "that is a text": str(NOW + 600),
            "that is true": True,
            "that is a list": [NOW + 600],
            "of 400 digits": FAR,
        }.items()
    },
    "exp that is not a number": with_claims(
        lambda issuer: json.dumps(issuer.claims()).replace(str(NOW)[:4], "NaN", 1).encode()
    ),
    "exp that is infinite": with_claims(
        lambda issuer: (
            json.dumps(issuer.claims(exp=0)).replace('"exp": 0', '"exp": Infinity').encode()
        )
    ),
    "exp that is too large for a float": with_claims(
        lambda issuer: json.dumps(issuer.claims(exp=0)).replace('"exp": 0', '"exp": 1e999').encode()
    ),
    **{
        f"nbf {name}": claiming(nbf=value)
        for name, value in {
            "in an hour": NOW + 3_600,
            "that is a text": str(NOW),
            "that is false": False,
            "that is a list": [],
        }.items()
    },
    "iat in an hour": claiming(iat=NOW + 3_600),
    "iat that is a text": claiming(iat="now"),
    # Identities
    "neither sub nor client": claiming(sub=..., client_id=...),
    "sub that is a number, and no client": claiming(sub=1, client_id=...),
    "sub that is empty, and no client": claiming(sub="", client_id=...),
    "sub of 10 kB, and no client": claiming(sub="s" * 10_000, client_id=...),
    # Payloads and shapes
    **{f"claims that are {name}": with_payload(value) for name, value in PAYLOADS.items()},
    "a token in a token": lambda issuer, bait: sign(
        header(cty="JWT"), issuer.token().encode(), KEYS["rsa"]
    ),
    "a header nested too deeply": changed(part(0, lambda _: encode(b'{"alg":' + b"[" * 5_000))),
    "a header that is a list": changed(part(0, lambda _: encode([]))),
    "a header that is not JSON": changed(part(0, lambda _: encode(b"{alg}"))),
    "a header that is not base64": changed(part(0, lambda _: "~~~~")),
    "an empty header": changed(part(0, lambda _: "")),
    "empty claims": changed(part(1, lambda _: "")),
    "an empty signature": changed(part(2, lambda _: "")),
    "one part": changed(lambda token: token.split(".")[0]),
    "two parts": changed(lambda token: token.rpartition(".")[0]),
    "four parts": changed(lambda token: token + ".AAAA"),
    "five parts, as an encrypted token": changed(lambda token: token + ".AAAA.AAAA"),
    "three dots": lambda issuer, bait: "...",
    "a dot": lambda issuer, bait: ".",
    "only padding": lambda issuer, bait: "====",
    "padding inside": changed(part(0, lambda text: text + "==")),
    "an opaque token": lambda issuer, bait: "2YotnFZFEjr1zCsicMWpAA",
    "more than 16 kB": claiming(padding="x" * 16_384),
    "exactly one byte more than allowed": changed(
        lambda token: token + "A" * (16_385 - len(token))
    ),
    "30 kB of garbage": lambda issuer, bait: "A" * 30_000,
    "a token of another language": lambda issuer, bait: "ключ",
    "JSON in place of a token": lambda issuer, bait: '{"payload":"e30"}',
    "letters of Latin-1": lambda issuer, bait: "\x80\xff",
    "a quote": lambda issuer, bait: 'abc"def',
    "a header injection": lambda issuer, bait: "abc\tX-Admin: 1",
}


Headers = Callable[[Issuer], list[tuple[str, str]]]


def sending(*values: str) -> Headers:
    """Authorization headers, in which TOKEN stands for a valid token."""
    return lambda issuer: [
        ("Authorization", value.replace("TOKEN", issuer.token())) for value in values
    ]


HEADERS: dict[str, tuple[Headers, tuple[int, str | None]]] = {
    "no header": (sending(), NONE),
    "an empty header": (sending(""), NONE),
    "no scheme": (sending("TOKEN"), NONE),
    "Basic": (sending("Basic eDp5"), NONE),
    "Basic with the token": (sending("Basic TOKEN"), NONE),
    "DPoP": (sending("DPoP TOKEN"), NONE),
    "Digest with commas": (sending('Digest username="a", realm="b"'), NONE),
    "Negotiate": (sending("Negotiate YII="), NONE),
    "a scheme that begins like ours": (sending("BearerX TOKEN"), NONE),
    "a colon after the scheme": (sending("Bearer: TOKEN"), NONE),
    "no token": (sending("Bearer"), INVALID),
    "a blank token": (sending("Bearer  "), INVALID),
    "two tokens in one header": (sending("Bearer TOKEN TOKEN"), INVALID),
    "a parameter": (sending('Bearer token="TOKEN"'), INVALID),
    "a quoted token": (sending('Bearer "TOKEN"'), INVALID),
    "a tab before the token": (sending("Bearer\tTOKEN"), NONE),
    "two headers": (sending("Bearer TOKEN", "Bearer TOKEN"), MALFORMED),
    "a good and a bad header": (sending("Bearer TOKEN", "Bearer x"), MALFORMED),
    "a bad and a good header": (sending("Bearer x", "Bearer TOKEN"), MALFORMED),
    "Basic and then Bearer": (sending("Basic eDp5", "Bearer TOKEN"), MALFORMED),
    "Bearer and then Basic": (sending("Bearer TOKEN", "Basic eDp5"), MALFORMED),
    "two tokens with a comma": (sending("Bearer TOKEN,TOKEN"), MALFORMED),
    "another header": (lambda issuer: [("X-Authorization", f"Bearer {issuer.token()}")], NONE),
    "a cookie": (lambda issuer: [("Cookie", f"access_token={issuer.token()}")], NONE),
    "a proxy's header": (
        lambda issuer: [("Proxy-Authorization", f"Bearer {issuer.token()}")],
        NONE,
    ),
}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def bait() -> Iterator[Issuer]:
    """A server that publishes the stranger's keys, and must not be asked for them."""
    with Issuer() as bait:
        bait.keys = dict(OTHERS)
        yield bait


@pytest.fixture(scope="module")
def port(issuer: Issuer) -> Iterator[int]:
    command = [commands.ACCORD, "serve", GUARDED, "--http", "127.0.0.1:0"]
    environment = {**os.environ, "ISSUER": issuer.url}
    with HttpServer(command, env=environment) as server:
        yield server.port
        assert "Traceback" not in server.stderr


def post(port: int, headers: list[tuple[str, str]], path: str = "/mcp") -> http.client.HTTPResponse:
    """POST a call of `add`, and return the response with its body read."""
    peer = HttpPeer(port)
    message = peer.calling("add", a=2, b=3)
    usual = {name: value for name, value in peer.headers_for(message).items() if value is not None}
    body = json.dumps(message).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("POST", path, skip_host=True)
    for name, value in [*usual.items(), *headers]:
        connection.putheader(name, str(value).encode())
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


def check(response: Any, expected: tuple[int, str | None]) -> None:
    status, error = expected
    challenge = response.headers["WWW-Authenticate"]
    assert response.status == status, (response.body, challenge)
    assert challenge.startswith("Bearer ")
    assert f'resource_metadata="{METADATA}"' in challenge
    assert 'scope="shop:read"' in challenge
    assert (f'error="{error}"' in challenge) if error else ("error" not in challenge)
    assert "jsonrpc" in json.loads(response.body)


REFUSALS: set[tuple[str, bytes]] = set()


@pytest.mark.parametrize("name", TOKENS)
def test_a_bad_token_is_refused(name: str, issuer: Issuer, bait: Issuer, port: int) -> None:
    token = TOKENS[name](issuer, bait.url)
    response = post(port, [("Authorization", f"Bearer {token}")])
    check(response, INVALID)
    REFUSALS.add((response.headers["WWW-Authenticate"], response.body))  # type: ignore[attr-defined]
    assert len(REFUSALS) == 1  # one text for all: none tells which part was wrong


REFUSED_AT: dict[str, Make] = {
    "the text": lambda issuer, bait: f"opaque-{time.monotonic_ns()}",
    "the algorithm": lambda issuer, bait: unsigned("none")(issuer, bait) + str(time.monotonic_ns()),
    "the signature": lambda issuer, bait: sign(
        header(), issuer.claims(jti=time.monotonic_ns()), OTHERS["rsa"]
    ),
    "the audience": lambda issuer, bait: issuer.token(aud="x", jti=time.monotonic_ns()),
    "the expiry": lambda issuer, bait: issuer.token(exp=1, jti=time.monotonic_ns()),
}


def test_the_time_of_a_refusal_does_not_tell_which_check_has_failed(
    issuer: Issuer, port: int
) -> None:
    post(port, [("Authorization", f"Bearer {issuer.token()}")])  # the keys are there
    fastest = {}
    for name, make in REFUSED_AT.items():
        seconds = []
        for _ in range(15):
            headers = [("Authorization", f"Bearer {make(issuer, '')}")]
            began = time.perf_counter()
            assert post(port, headers).status == 401
            seconds.append(time.perf_counter() - began)
        fastest[name] = min(seconds)
    assert min(fastest.values()) > 0.009, fastest  # all wait for the same moment
    assert max(fastest.values()) - min(fastest.values()) < 0.005, fastest


@pytest.mark.requirement("mcp.authorization.malformed")
@pytest.mark.parametrize("name", HEADERS)
def test_a_bad_header_is_refused(name: str, issuer: Issuer, port: int) -> None:
    headers, expected = HEADERS[name]
    check(post(port, headers(issuer)), expected)


@pytest.mark.requirement("mcp.authorization.header-only")
@pytest.mark.parametrize(
    "query", ["access_token=TOKEN", "token=TOKEN", "authorization=Bearer%20TOKEN"]
)
def test_a_token_in_the_query_is_ignored(query: str, issuer: Issuer, port: int) -> None:
    check(post(port, [], f"/mcp?{query.replace('TOKEN', issuer.token())}"), NONE)


@pytest.mark.parametrize("kid", KEYS)
def test_a_good_token_is_accepted(kid: str, issuer: Issuer, port: int) -> None:
    assert post(port, [("Authorization", f"Bearer {issuer.token(kid)}")]).status == 200


GOOD: dict[str, Make] = {
    "typ JWT": heading(typ="JWT"),
    "typ jwt": heading(typ="jwt"),
    "typ application/at+jwt": heading(typ="application/at+jwt"),
    "no typ": heading(typ=...),
    "no kid": heading(kid=...),
    "unknown members in the header": heading(nonce="abc", ver=2),
    "PS256": lambda issuer, bait: sign(header(alg="PS256"), issuer.claims(), KEYS["rsa"], "PS256"),
    "several audiences": claiming(aud=["https://a.example", AUDIENCE]),
    "expired within the leeway": lambda issuer, bait: issuer.token(exp=int(time.time()) - 20),
    "exp as a fraction": claiming(exp=NOW + 600.5),
    "no iat": claiming(iat=...),
    "typ Bearer in the claims": claiming(typ="Bearer"),
    "token_use access": claiming(token_use="access"),
    "a nonce beside the scopes": claiming(nonce="n-0S6_WzA2Mj"),
    "scopes as a list": claiming(scope=["shop:read"]),
    "scp": claiming(scope=..., scp="shop:read other"),
    "only a client": claiming(sub=...),
    "azp": claiming(client_id=..., azp="app"),
    "14 kB": claiming(groups=["g" * 36] * 200),
}


@pytest.mark.parametrize("name", GOOD)
def test_an_unusual_but_valid_token_is_accepted(
    name: str, issuer: Issuer, bait: Issuer, port: int
) -> None:
    token = GOOD[name](issuer, bait.url)
    assert post(port, [("Authorization", f"Bearer {token}")]).status == 200


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "bEaReR", "Bearer  "])
def test_the_scheme_is_read_in_any_case(scheme: str, issuer: Issuer, port: int) -> None:
    assert post(port, [("Authorization", f"{scheme} {issuer.token()}")]).status == 200


def test_no_token_has_caused_a_fetch_elsewhere(issuer: Issuer, bait: Issuer, port: int) -> None:
    for make in TOKENS.values():
        post(port, [("Authorization", f"Bearer {make(issuer, bait.url)}")])
    assert post(port, [("Authorization", f"Bearer {issuer.token()}")]).status == 200
    assert not bait.hits
    assert issuer.hits.keys() == {"/.well-known/oauth-authorization-server", "/jwks"}
    assert issuer.hits["/jwks"] <= 8  # unknown kids cause one in 10 s


def test_the_matrix_is_large() -> None:
    assert len(TOKENS) + len(HEADERS) >= 120
