"""URLs: how they are split, encoded, joined and shown."""

import pytest

from accord.errors import ContractError
from accord.http1 import URL, InvalidURL, encode_head


@pytest.mark.parametrize(
    ("text", "host", "port", "target", "host_header"),
    [
        ("http://h", "h", 80, "/", "h"),
        ("http://h:80/", "h", 80, "/", "h"),
        ("HTTPS://Example.COM/A?b=C#d", "example.com", 443, "/A?b=C", "example.com"),
        ("https://h:80/mcp", "h", 80, "/mcp", "h:80"),
        ("http://h?x=1", "h", 80, "/?x=1", "h"),
        ("http://[::1]:8000/mcp", "::1", 8000, "/mcp", "[::1]:8000"),
        ("http://[fe80::1%25eth0]/", "fe80::1%eth0", 80, "/", "[fe80::1]"),
        ("http://a_b.c-d.:1/", "a_b.c-d.", 1, "/", "a_b.c-d.:1"),
        ("http://bücher.example/ü?q=ü", "xn--bcher-kva.example", 80, "/%C3%BC?q=%C3%BC", None),
        ("http://h/a%20b/%C3%BC?q=a+b&r=[1]", "h", 80, "/a%20b/%C3%BC?q=a+b&r=[1]", "h"),
        ('http://h/a"b<c>', "h", 80, "/a%22b%3Cc%3E", "h"),
    ],
)
def test_a_url_is_split_and_encoded(
    text: str, host: str, port: int, target: str, host_header: str | None
) -> None:
    url = URL.parse(text)
    assert (url.host, url.port, url.target) == (host, port, target)
    assert url.host_header == (host_header or host)


@pytest.mark.parametrize(
    "text",
    [
        *("", "h", "//h", "http://", "http:///mcp", "http://:80/", "http://h:port/"),
        *("http://h:99999/", "http://[::1", "http://[x]/", "http://h h/", "http://h/a b"),
        *("http://h/\r\nX: y", "http://h\t/", "http://h/\0", "http://h%0d%0a/", "http://a,b/"),
        *("http://h\x7f/", "http://\u2028/", f"http://{'ü' * 80}/", "http://h\\x/"),
    ],
)
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(InvalidURL):
        URL.parse(text)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("", "http://h:1/a/b"),
        ("c", "http://h:1/a/c"),
        ("/c", "http://h:1/c"),
        ("//other/c", "http://other/c"),
        ("https://h:1/c", "https://h:1/c"),
        ("?q", "http://h:1/a/b"),
        ("/ü", "http://h:1/%C3%BC"),
        ("ftp://h/", "ftp://h/"),
    ],
)
def test_a_redirect_is_joined(location: str, shown: str) -> None:
    assert URL.parse("http://me:pass@h:1/a/b?secret").join(location).bare == shown


def test_credentials_stay_within_the_origin() -> None:
    url = URL.parse("http://me:p%40ss@h:1/a")
    assert url.credentials == "Basic bWU6cEBzcw=="
    assert url.join("/b").credentials == url.join("http://h:1/b").credentials == url.credentials
    for other in ("http://h:2/", "https://h:1/", "http://g:1/"):
        assert url.join(other).credentials is None
    assert b"authorization: Basic bWU6cEBzcw==\r\n" in encode_head("GET", url, {})
    assert b"Basic" not in encode_head("GET", url, {"Authorization": "Bearer x"})


def test_a_head_has_a_host_a_length_and_no_compression() -> None:
    url = URL.parse("http://h:1/a?b")
    assert encode_head("POST", url, {"Accept": "x", "X-Empty": ""}, b"abc") == (
        b"POST /a?b HTTP/1.1\r\nhost: h:1\r\naccept-encoding: identity\r\naccept: x\r\nx-empty: \r\n"
        b"content-length: 3\r\n\r\n"
    )
    assert b"content-length" not in encode_head("GET", url, {})
    assert b"content-length: 0\r\n" in encode_head("POST", url, {}, b"")


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nY: b"},
        {"X": "a\nb"},
        {"X": "a\rb"},
        {"X": "a\0"},
        {"X": " a"},
        {"X": "a\t"},
        {"X": "ü"},
        {"X\r\nY": "a"},
        {"X: a\r\nY": "b"},
        {"X Y": "a"},
        {"": "a"},
        {"X:": "a"},
        {"ü": "a"},
        {"Content-Length": "1"},
        {"transfer-encoding": "chunked"},
        {"Connection": "close"},
    ],
)
def test_a_header_that_would_break_the_head_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ContractError, match="the headers are invalid") as caught:
        encode_head("POST", URL.parse("http://h/"), headers)
    assert str(caught.value).isprintable()
