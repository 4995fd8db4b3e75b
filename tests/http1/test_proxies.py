"""Which proxy the environment names for a URL."""

import pytest

from accord.http1 import URL, ConnectFailed
from accord.http1.proxies import Proxies

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({}, "http://a/", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://a/", "http://p:1/"),
        ({"HTTP_PROXY": "p:1"}, "http://a/", "http://p:1/"),
        ({"HTTP_PROXY": "http://p:1"}, "https://a/", None),
        ({"https_proxy": "http://p:1"}, "https://a/", "http://p:1/"),
        ({"https_proxy": "https://p"}, "https://a/", "https://p/"),
        ({"ALL_PROXY": "http://p:1"}, "https://a/", "http://p:1/"),
        ({"ALL_PROXY": "http://p:1", "HTTPS_PROXY": "http://q"}, "https://a/", "http://q/"),
        ({"http_proxy": "http://p", "HTTP_PROXY": "http://q"}, "http://a/", "http://p/"),
        ({"HTTP_PROXY": ""}, "http://a/", None),
        ({"NO_PROXY": "a"}, "http://a/", None),
    ],
)
def test_the_environment_names_the_proxy(
    environment: dict[str, str], url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = Proxies.of_environment().find(URL.parse(url))
    assert (found.bare if found else None) == proxy


@pytest.mark.parametrize(
    ("entries", "past", "through"),
    [
        ("*", ["http://a/", "https://10.0.0.1/"], []),
        (
            "example.com",
            ["http://example.com/", "http://a.example.com:8/"],
            ["http://xexample.com/"],
        ),
        (".example.com", ["http://a.example.com/"], ["http://example.com/"]),
        ("*.example.com", ["http://a.example.com/"], ["http://example.com/"]),
        ("a.b:8080", ["http://a.b:8080/"], ["http://a.b/"]),
        (
            "localhost, 127.0.0.1",
            ["http://localhost/", "http://127.0.0.1:9/"],
            ["http://127.0.0.2/"],
        ),
        ("127.0.0.1:9", ["http://127.0.0.1:9/"], ["http://127.0.0.1/"]),
        ("10.0.0.0/8", ["http://10.1.2.3/"], ["http://11.0.0.1/", "http://a/"]),
        ("::1", ["http://[::1]/"], ["http://[::2]/"]),
        ("[::1]:8", ["http://[::1]:8/"], ["http://[::1]/"]),
        ("fd00::/8", ["http://[fd12::1]/"], ["http://[fe80::1%25eth0]/"]),
        ("https://a", ["https://a/"], ["http://a/"]),
        ("A.Example , ,", ["http://a.example/"], ["http://b/"]),
    ],
)
def test_no_proxy_names_what_is_reached_directly(
    entries: str, past: list[str], through: list[str]
) -> None:
    proxies = Proxies({"all": "http://p", "no": entries})
    assert [proxies.find(URL.parse(url)) for url in past] == [None] * len(past)
    assert all(proxies.find(URL.parse(url)) for url in through)


@pytest.mark.parametrize("proxy", ["socks5://me:secret@p:1", "http://", "http://p:port"])
def test_a_proxy_that_cannot_be_used_is_an_error_only_for_what_needs_it(proxy: str) -> None:
    proxies = Proxies({"https": proxy})
    assert proxies.find(URL.parse("http://a/")) is None
    with pytest.raises(ConnectFailed) as caught:
        proxies.find(URL.parse("https://a/"))
    assert "secret" not in str(caught.value)
