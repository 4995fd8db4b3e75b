"""Where metadata is, and which metadata is refused."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.auth.sign_in.metadata import (
    canonical,
    read_own_server,
    read_resource,
    read_server,
    resource_locations,
    server_locations,
)
from accord.errors import SignInError

PRM = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
SEGMENTS = st.lists(st.sampled_from(["a", "b", "mcp", "t1"]), max_size=3).map(
    lambda names: "".join(f"/{name}" for name in names)
)


@pytest.mark.parametrize(
    ("url", "places"),
    [
        ("https://h/public/mcp", [f"https://h{PRM}/public/mcp", f"https://h{PRM}"]),
        ("https://H:443/mcp/", [f"https://h{PRM}/mcp", f"https://h{PRM}"]),
        ("https://h:8443", [f"https://h:8443{PRM}"]),
        ("http://[::1]:80/mcp?x=1#y", [f"http://[::1]{PRM}/mcp", f"http://[::1]{PRM}"]),
    ],
)
def test_rfc_9728_3_1_the_metadata_of_a_resource_is_at_its_path_then_at_the_root(
    url: str, places: list[str]
) -> None:
    assert resource_locations(url) == places


@pytest.mark.parametrize(
    ("issuer", "places"),
    [
        ("https://a", [f"https://a{SERVER}", f"https://a{OPENID}"]),
        ("https://a/", [f"https://a{SERVER}", f"https://a{OPENID}"]),
        ("https://a/t1", [f"https://a{SERVER}/t1", f"https://a{OPENID}/t1", f"https://a/t1{OPENID}"]),
        ("https://a/t1/", [f"https://a{SERVER}/t1", f"https://a{OPENID}/t1", f"https://a/t1{OPENID}"]),
    ],
)  # fmt: skip
def test_rfc_8414_3_the_metadata_of_an_issuer_is_in_two_places_or_three(
    issuer: str, places: list[str]
) -> None:
    assert server_locations(issuer) == places


@pytest.mark.parametrize(
    ("stated", "location", "url", "fits"),
    [
        ("https://h/mcp", f"https://h{PRM}/mcp", "https://h/mcp", True),
        ("https://h/mcp/", f"https://h{PRM}/mcp", "https://h/mcp", True),
        ("HTTPS://H:443/mcp", f"https://h{PRM}/mcp", "https://h/mcp", True),
        ("https://h/mcp", "https://h/somewhere.json", "https://h/mcp", True),
        ("https://h", f"https://h{PRM}", "https://h/mcp", True),
        ("https://h/", f"https://h{PRM}", "https://h/mcp", True),
        ("https://h/a", f"https://h{PRM}/a", "https://h/a/mcp", True),
        ("https://h/m", f"https://h{PRM}/m", "https://h/mcp", False),
        ("https://h", f"https://h{PRM}/mcp", "https://h/mcp", False),
        ("https://h", "https://h/evil/metadata", "https://h/evil/mcp", False),
        ("https://h/mcp/more", f"https://h{PRM}/mcp/more", "https://h/mcp", False),
        ("https://evil/mcp", f"https://h{PRM}/mcp", "https://h/mcp", False),
        ("http://h/mcp", f"https://h{PRM}/mcp", "https://h/mcp", False),
        ("https://h:8443/mcp", f"https://h{PRM}/mcp", "https://h/mcp", False),
        ("https://h/mcp#x", f"https://h{PRM}/mcp", "https://h/mcp", False),
        ("https://h/mcp?tenant=2", f"https://h{PRM}/mcp", "https://h/mcp", False),
        ("mcp", f"https://h{PRM}/mcp", "https://h/mcp", False),
        ("https://[", f"https://h{PRM}/mcp", "https://h/mcp", False),
        ("", f"https://h{PRM}/mcp", "https://h/mcp", False),
    ],
)
def test_rfc_9728_3_3_only_the_metadata_of_the_resource_itself_is_accepted(
    stated: str, location: str, url: str, fits: bool
) -> None:
    body = msgspec.json.encode({"resource": stated, "authorization_servers": ["https://a"]})
    if fits:
        assert read_resource(body, location, url).resource == stated
    else:
        with pytest.raises(SignInError):
            read_resource(body, location, url)


@given(SEGMENTS, SEGMENTS)
def test_a_resource_above_the_url_counts_only_at_its_own_well_known_place(
    above: str, below: str
) -> None:
    stated, url = f"https://h{above}", f"https://h{above}{below}/mcp"
    body = msgspec.json.encode({"resource": stated})
    assert read_resource(body, f"https://h{PRM}{above}", url).resource == stated
    with pytest.raises(SignInError, match="another resource"):
        read_resource(body, f"https://h{PRM}{above}{below}/mcp", url)


@pytest.mark.parametrize("stated", ["https://a/", "https://A", "https://a:443", "https://b", ""])
def test_rfc_8414_3_3_an_issuer_is_compared_without_normalisation(stated: str) -> None:
    body = msgspec.json.encode({"issuer": stated})
    with pytest.raises(SignInError, match="of the issuer"):
        read_server(body, f"https://a{SERVER}", "https://a")


@pytest.mark.parametrize(("stated", "fits"), [("https://h", True), ("https://h/", True), ("https://x", False)])  # fmt: skip
def test_a_server_that_is_its_own_issuer_may_end_its_name_in_a_slash(
    stated: str, fits: bool
) -> None:
    body = msgspec.json.encode({"issuer": stated})
    if fits:
        assert read_own_server(body, f"https://h{SERVER}", "https://h").issuer == stated
    else:
        with pytest.raises(SignInError):
            read_own_server(body, f"https://h{SERVER}", "https://h")


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"{}", b"\xff", b'{"resource": 1}', b"[" * 100_000,
     b'{"resource": "https://h/mcp", "authorization_servers": "https://a"}'],
)  # fmt: skip
def test_a_document_that_is_not_metadata_is_an_error_of_one_line(body: bytes) -> None:
    with pytest.raises(SignInError, match="is not valid") as caught:
        read_resource(body, f"https://h{PRM}/mcp", "https://h/mcp")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("HTTPS://H:443/mcp/", "https://h/mcp"),
        ("https://user:secret@h/mcp#x", "https://h/mcp"),
        ("http://h:80", "http://h"),
        ("https://h/MCP?a=1", "https://h/MCP?a=1"),
    ],
)
def test_a_sign_in_is_stored_by_one_spelling_of_the_url(url: str, same: str) -> None:
    assert canonical(url) == same
