"""Foreign servers as targets: URLs, command lines, and files that list them."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from accord.cli import databases
from accord.cli.targets import Target
from accord.cli.terminal import visible
from accord.errors import ContractError
from accord.gateway import Gateway, UpstreamSpec, spec_of
from accord.gateway.config import read_config
from accord.gateway.names import MAX_NAME, NameFile
from accord.server import Server


def gateway_server(
    targets: Sequence[Target], given: Mapping[str, Any], configuration: Mapping[str, Any]
) -> Server:
    """Return a server with all the foreign servers of the targets."""
    implied = {"replies": "normalised"} if configuration.get("profile") else {}
    options = {name: each for name, each in given.items() if name != "max_name"}

    def specs() -> list[UpstreamSpec]:
        found: list[UpstreamSpec] = []
        for target in targets:
            found += _specs_of(target, {**implied, **options})
        return _named(found)

    files = [target.servers for target in targets if target.servers is not None]
    return Gateway(
        specs(),
        source=specs,
        files=files,
        max_name=given.get("max_name", MAX_NAME),
        names=_name_file(targets),
    ).server


def _name_file(targets: Sequence[Target]) -> NameFile:
    """Return the file for the names of these targets, which is the same in any order of them."""
    from accord.auth.sign_in.store import state_folder  # slow to import

    words = sorted(
        [target.name or "", str(target.servers.resolve() if target.servers else target.target)]
        for target in targets
    )
    digest = blake2b(repr(words).encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return NameFile(state_folder() / "gateway" / f"{digest}.json")


def _specs_of(target: Target, options: Mapping[str, Any]) -> list[UpstreamSpec]:
    if target.servers is None:
        _require_program(target)
        prefix = target.prefix or None
        return [spec_of(target.target, name=target.name, prefix=prefix, **options)]
    own = read_config(target.servers)
    return [_with_options(spec, options) for spec in own]


def _require_program(target: Target) -> None:
    """Raise if the program of a command line is not installed."""
    from shutil import which  # slow to import, seldom needed

    spec = spec_of(target.target, name=target.name)
    if spec.url or which(spec.command[0]) is not None:
        return
    shown = visible(target.target)
    hint = f"; for a database file write 'sqlite:///{shown}'"
    raise ContractError(
        f"{shown} is not an installed program{hint if databases.may_be_file(target.target) else ''}"
    )


def _with_options(spec: UpstreamSpec, options: Mapping[str, Any]) -> UpstreamSpec:
    """Return a server of a file with the options of the command line; its own replies stay."""
    others = {name: each for name, each in options.items() if name != "replies"}
    if "replies" in options and spec.replies == "repaired":
        others["replies"] = options["replies"]
    return msgspec.structs.replace(spec, **others)


def _named(specs: Sequence[UpstreamSpec]) -> list[UpstreamSpec]:
    """Return the servers with different names: a repeated name gets a number."""
    found: dict[str, UpstreamSpec] = {}
    for spec in specs:
        name, number = spec.name, 2
        while name in found:
            name, number = f"{spec.name}{number}", number + 1
        found[name] = msgspec.structs.replace(spec, name=name)
    return list(found.values())
