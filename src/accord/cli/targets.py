"""What people name on the command line, into a server."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from accord.errors import ContractError
from accord.server import Server, combine

_DEFAULT_NAME: Final = "server"

HELP: Final = "MODULE:NAME or FILE.py:NAME of a Server (NAME is `server` if left out)"


def load(targets: Sequence[str], **configuration: Any) -> Server:
    """The server that a target names, or all of them as one; see `Server.configure`."""
    repeated = [target for target in targets if targets.count(target) > 1]
    if repeated:
        raise ContractError(f"{repeated[0]} is named twice")
    servers = {target: _load_one(target) for target in targets}
    for server in servers.values():
        server.configure(**configuration)
    combined = combine(servers)
    combined.configure(**configuration)
    return combined


def _load_one(target: str) -> Server:
    place, _, name = target.partition(":")
    path = (name or _DEFAULT_NAME).split(".")
    try:
        sys.path.insert(0, str(Path.cwd()))
        is_file = place.endswith(".py")
        module = _import_file(Path(place)) if is_file else importlib.import_module(place)
        found: Any = module
        for part in path:
            found = getattr(found, part, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a stranger's module may raise anything
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ContractError(f"cannot import {target}: {reason}") from error
    if isinstance(found, Server):
        return found
    raise ContractError(f"{target}: {_what_is_there(place, module, '.'.join(path), found)}")


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    name = "accord_target_" + str(path.resolve()).replace(".", "_")  # not that of another module
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _what_is_there(place: str, module: Any, name: str, found: object) -> str:
    servers = [key for key, value in vars(module).items() if isinstance(value, Server)]
    hint = f"; it has {', '.join(servers)}" if servers else "; it has no accord.Server at all"
    fault = "there is no" if found is None else "is no accord.Server:"
    return f"{fault} {name!r} in {place}{hint}"
