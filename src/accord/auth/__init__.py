"""Who is calling: bearer tokens verified for servers over HTTP, and signing in to others' servers.

A server is a resource server only; authorization servers are others'. Read `verifier`, `jwt` on
`keys`, `introspection`, `static_tokens`, then `verdicts`, which keeps what they found, `challenges`
and `metadata`. `fetch` gets a document from another server, within limits.
"""

from accord.auth.any_of import AnyOf
from accord.auth.introspection import Introspection
from accord.auth.jwt import TokenVerifier
from accord.auth.static_tokens import StaticTokens
from accord.auth.verifier import Unavailable
from accord.model.caller import TokenRequest, Verifier

__all__ = [
    "AnyOf",
    "Introspection",
    "StaticTokens",
    "TokenRequest",
    "TokenVerifier",
    "Unavailable",
    "Verifier",
]
