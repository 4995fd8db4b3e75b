"""The files of the page, and the headers that keep it to itself."""

import gzip
from pathlib import Path
from typing import Final

from accord.serve.http.request import Header
from accord.serve.http.response import Response

_FOLDER: Final = Path(__file__).with_name("static")
_KINDS: Final = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
    b"; img-src 'self' data:; media-src data:; frame-src blob:"
    b"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    b"; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"vary", b"accept-encoding"),
)
_INDEX: Final = "index.html"
_SLOT: Final = b'<meta name="accord-token" content="">'


class Assets:
    """The page's files by path, read once: `/` is the page, the rest is below `/inspector/`."""

    def __init__(self, token: str | None) -> None:
        """With a token, the page brings it along."""
        files = {path.name: path.read_bytes() for path in _FOLDER.iterdir()}
        index = files.pop(_INDEX)
        if token is not None:
            index = index.replace(_SLOT, _SLOT.replace(b'""', b'"%b"' % token.encode()))
        found = {f"/inspector/{name}": (name, body) for name, body in files.items()}
        found["/"] = (_INDEX, index)
        self._plain = {path: _response(name, body) for path, (name, body) in found.items()}
        self._packed = {path: _packed(name, body) for path, (name, body) in found.items()}

    def find(self, path: str, *, packed: bool = False) -> Response | None:
        """What is at a path, if anything is; packed for those who can unpack it."""
        return (self._packed if packed else self._plain).get(path)


def _response(name: str, body: bytes, *more: Header) -> Response:
    return Response(200, body, (*_HEADERS, *more), _KINDS[Path(name).suffix])


def _packed(name: str, body: bytes) -> Response:
    return _response(name, gzip.compress(body, mtime=0), (b"content-encoding", b"gzip"))
