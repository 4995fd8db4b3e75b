"""The options of `accord serve --http` that say who may call: tokens, scopes, limits, TLS."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from accord.cli.values import count
from accord.errors import ContractError
from accord.serve.limits import Rate

if TYPE_CHECKING:
    from accord.model.caller import Verifier

OPTIONS: Final = (
    *("public_url", "issuer", "audience", "scope", "write_scope", "admin_scope", "token_file"),
    *("introspection", "rate", "max_concurrent", "tls_cert", "tls_key"),
)
_PATH: Final = "/mcp"
_ID: Final = "ACCORD_INTROSPECTION_ID"
_SECRET: Final = "ACCORD_INTROSPECTION_SECRET"  # noqa: S105 - the name of a variable


def rate(text: str) -> Rate:
    """Parse `60/min`."""
    try:
        return Rate.parse(text)
    except ContractError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_auth_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("Access over HTTP")
    add = group.add_argument
    add(
        "--public-url",
        metavar="URL",
        help="URL at which clients reach the server, for example that of a proxy",
    )
    add(
        "--issuer",
        metavar="URL",
        help="accept tokens of this authorization server, whose keys are discovered",
    )
    add(
        "--audience",
        action="append",
        default=[],
        metavar="NAME",
        help="audience that tokens must have (default: the public URL with /mcp); may be repeated",
    )
    add(
        "--scope",
        action="append",
        default=[],
        metavar="SCOPE",
        help="scope that every call requires; may be repeated",
    )
    add("--write-scope", metavar="SCOPE", help="scope that the writing tools of databases require")
    add("--admin-scope", metavar="SCOPE", help="scope that /metrics and the web page require")
    add(
        "--token-file",
        type=Path,
        metavar="TOML",
        help="accept the tokens in this file, which `accord token add` writes",
    )
    add(
        "--introspection",
        metavar="URL",
        help="introspect each token at this URL of the issuer (RFC 7662), with the client id and"
        f" secret in the environment variables {_ID} and {_SECRET}",
    )
    add(
        "--rate",
        type=rate,
        metavar="N/min",
        help="rate limit for each caller and tool: 60/min, 5/s",
    )
    add(
        "--max-concurrent",
        type=count,
        metavar="N",
        help="maximum number of concurrent calls of each caller",
    )
    add("--tls-cert", type=Path, metavar="PEM", help="certificate, to serve HTTPS without a proxy")
    add("--tls-key", type=Path, metavar="PEM", help="private key of the certificate")


def given_options(options: argparse.Namespace) -> dict[str, bool]:
    """Return which of the options were given, by their names on the command line."""
    return {f"--{name.replace('_', '-')}": bool(getattr(options, name)) for name in OPTIONS}


def http_settings(options: argparse.Namespace, own: "Verifier | None") -> Mapping[str, Any]:
    """Return the settings that the options make; `own` is the verifier of the server itself."""
    if options.public_url is not None:
        _require_public_url(options.public_url)
    verifier = _verifier(options)
    if verifier is None and own is None:
        _require_verifier(options)
        _require_names(options)
    return {
        "auth": verifier,
        "public_url": options.public_url,
        "scopes": tuple(options.scope),
        "admin_scope": options.admin_scope,
        "rate": options.rate,
        "max_concurrent": options.max_concurrent,
        "tls": _tls(options),
    }


def _require_public_url(url: str) -> None:
    from accord.auth.metadata import public_place

    public_place(url, _PATH)


def _require_verifier(options: argparse.Namespace) -> None:
    for name in ("scope", "write_scope", "admin_scope"):
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            raise ContractError(f"{option} needs callers with tokens: --issuer or --token-file")


def _require_names(options: argparse.Namespace) -> None:
    """Raise if a public URL alone would let everybody in: without tokens, hosts must be named."""
    if options.public_url is not None and not options.allow_host:
        from accord.serve.http.address import Address, require_loopback

        require_loopback(Address.parse(options.http))


def _tls(options: argparse.Namespace) -> tuple[Path, Path] | None:
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ContractError("--tls-cert and --tls-key belong together")
    return None if options.tls_cert is None else (options.tls_cert, options.tls_key)


def _verifier(options: argparse.Namespace) -> "Verifier | None":
    if options.issuer is None and options.token_file is None:
        for name in ("audience", "introspection"):
            if getattr(options, name):
                raise ContractError(f"--{name} needs --issuer")
        return None
    found: list[Verifier] = []
    if options.token_file is not None:  # first: an issuer must not see the tokens of the file
        from accord.auth.static_tokens import StaticTokens

        audience = options.audience[0] if options.audience else None
        found.append(StaticTokens(options.token_file, audience=audience))
    if options.issuer is not None:
        found.append(_of_issuer(options))
    if len(found) == 1:
        return found[0]
    from accord.auth.any_of import AnyOf

    return AnyOf(found)


def _of_issuer(options: argparse.Namespace) -> "Verifier":
    audience = options.audience or _public_audience(options)
    if options.introspection is None:
        from accord.auth.jwt import TokenVerifier

        return TokenVerifier(options.issuer, audience)
    from accord.auth.introspection import Introspection

    missing = next((name for name in (_ID, _SECRET) if not os.environ.get(name)), None)
    if missing is not None:
        raise ContractError(f"--introspection needs the environment variable {missing}")
    return Introspection(
        options.introspection,
        client_id=os.environ[_ID],
        client_secret=os.environ[_SECRET],
        issuer=options.issuer,
        audience=audience,
    )


def _public_audience(options: argparse.Namespace) -> list[str]:
    if options.public_url is None:
        raise ContractError(
            "--issuer needs --audience, the name of this server in tokens, or --public-url"
        )
    from accord.auth.metadata import public_place

    return [public_place(options.public_url, _PATH).resource]
