"""Signing in to others' servers: OAuth 2.1 as each MCP revision wants it of a client.

Read `provider`, what a client asks for tokens, then `interactive` (`SignIn`, for a person),
`machine` (`ClientCredentials`) and `exchange` (`TokenExchange`, for a gateway). A sign-in is
`authorization`, by the requests of `endpoints`. Without I/O: `challenge`, `metadata`, `oauth`,
`grant`. At the edge: `listener`, `browser`, `store`.
"""

from accord.auth.sign_in.challenge import Challenge, bearer_challenge
from accord.auth.sign_in.exchange import SUBJECT_TOKEN, TokenExchange
from accord.auth.sign_in.grant import Grant
from accord.auth.sign_in.interactive import SignIn
from accord.auth.sign_in.machine import ClientCredentials
from accord.auth.sign_in.provider import Auth, AuthRequest, BearerToken, as_auth
from accord.auth.sign_in.store import MemoryStore, Store, UserStore

__all__ = [
    "Auth",
    "AuthRequest",
    "BearerToken",
    "Challenge",
    "ClientCredentials",
    "Grant",
    "MemoryStore",
    "SUBJECT_TOKEN",
    "SignIn",
    "Store",
    "TokenExchange",
    "UserStore",
    "as_auth",
    "bearer_challenge",
]
