"""A shop that verifies its callers; the environment names the issuer and the audience.

With `INTROSPECTION`, tokens are opaque, and the authorization server is asked about each.
"""

import os

from accord import Context, Server, TokenVerifier
from accord.auth import Introspection

ISSUER, AUDIENCE = os.environ["ISSUER"], os.environ["AUDIENCE"]


def verifier() -> TokenVerifier | Introspection:
    """Return the verifier of JWTs, or of opaque tokens."""
    endpoint = os.environ.get("INTROSPECTION")
    if endpoint is None:
        return TokenVerifier(ISSUER, AUDIENCE, scopes=["shop:read"])
    client, secret = os.environ["CLIENT"].split(":")
    return Introspection(
        endpoint,
        client_id=client,
        client_secret=secret,
        issuer=ISSUER,
        audience=AUDIENCE,
        scopes=["shop:read"],
    )


server = Server("shop", auth=verifier())


@server.tool
def whoami(ctx: Context) -> dict[str, str | None]:
    """Return who is calling."""
    assert ctx.caller is not None
    return {"subject": ctx.caller.subject, "client": ctx.caller.client}


@server.tool(scopes=["shop:write"])
def restock(item: str) -> str:
    """Order more of an item."""
    return f"ordered {item}"
