"""What another server may answer to a fetch: anything, within time and bytes."""

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from accord.auth.fetch import Fetched, FetchError, bare, fetch, is_loopback, require_safe

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Serve one answer to every request; yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def do_POST(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def plainly(status: int, body: bytes = b"{}", **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def get(url: str, **options: object) -> Fetched:
    return asyncio.run(fetch(url, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_response_of_any_status_is_returned_whole(status: int) -> None:
    with serving(plainly(status, b'{"a":1}', X_Kind="odd")) as url:
        found = get(url)
    assert (found.status, found.body, found.headers["x-kind"]) == (status, b'{"a":1}', "odd")


def test_a_form_and_a_body_are_posted() -> None:
    seen: list[tuple[str, str | None, bytes]] = []

    def note(request: BaseHTTPRequestHandler) -> None:
        size = int(request.headers.get("content-length", 0))
        seen.append((request.command, request.headers["content-type"], request.rfile.read(size)))
        plainly(200)(request)

    with serving(note) as url:
        get(url, form={"token": "a b&c"}, headers=[("authorization", "Basic eDp5")])
        get(url, body=b"{}", headers=[("content-type", "application/json")])
        get(url)
    assert seen == [
        ("POST", "application/x-www-form-urlencoded", b"token=a+b%26c"),
        ("POST", "application/json", b"{}"),
        ("GET", None, b""),
    ]


def test_a_redirect_is_returned_and_its_target_is_not_asked() -> None:
    hits: list[str] = []

    def bait(request: BaseHTTPRequestHandler) -> None:
        hits.append(request.path)
        plainly(200)(request)

    with serving(bait) as target, serving(plainly(302, Location=target)) as url:
        assert get(url).status == 302
    assert hits == []


def test_a_body_above_the_limit_is_refused_before_it_is_all_read() -> None:
    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            while True:
                request.wfile.write(b"x" * 65_536)
        except OSError:
            pass

    with serving(endless) as url, pytest.raises(FetchError, match=r"more than 1,000,000 bytes"):
        get(url)


def test_a_body_at_the_limit_is_returned() -> None:
    with serving(plainly(200, b"x" * 1_000)) as url:
        assert len(get(url, limit=1_000).body) == 1_000
        with pytest.raises(FetchError):
            get(url, limit=999)


def test_a_compressed_body_is_refused() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    with (
        serving(plainly(200, bomb, Content_Encoding="gzip")) as url,
        pytest.raises(FetchError, match="compressed"),
    ):
        get(url)


def test_the_time_limit_is_for_the_whole_exchange() -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            for _ in range(100):
                request.wfile.write(b"x")
                time.sleep(0.05)
        except OSError:
            pass

    begun = time.monotonic()
    with serving(drip) as url, pytest.raises(FetchError, match=r"within 0\.3 s"):
        get(url, seconds=0.3)
    assert time.monotonic() - begun < 3


def test_a_server_that_is_away_is_a_fetch_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        with pytest.raises(FetchError, match="could not reach"):
            get(url)


def test_what_is_not_http_is_a_fetch_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            client, _ = server.accept()
            with client:
                client.recv(65_536)
                client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(FetchError, match="could not reach"):
            get(f"http://127.0.0.1:{port}/")
        thread.join()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "http://127.0.0.1.example.com/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:10.0.0.1]/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "//127.0.0.1/",
        "https:///path",
        "http://127.0.0.1:x/",
        "http://[::1/",
        "",
    ],
)
def test_an_unsafe_url_is_refused_without_a_connection(url: str) -> None:
    with pytest.raises(FetchError):
        get(url)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("as.localhost", True),
        ("127.8.9.1", True),
        ("[::1]", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("localhost.example.com", False),
        ("127.1", False),
        ("example.com", False),
    ],
)
def test_loopback_is_told_by_name_and_address(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_plain_http_elsewhere_is_allowed_on_request_only() -> None:
    require_safe("http://as.internal/", allow_http=True)
    with pytest.raises(FetchError):
        require_safe("http://as.internal/")


def test_a_message_has_no_credentials_and_no_query_of_a_url() -> None:
    assert bare("https://u:p@h:1/p?token=1#f") == "https://h:1/p"
    assert bare("https://h/\x1b[31m") == "https://h/\\x1b[31m"
    assert len(bare("https://h/" + "x" * 9_999)) < 300
