"""Reads `mcp.json`: the servers of an `mcpServers` file, with the lines of its mistakes."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from accord.errors import ContractError
from accord.gateway.spec import REPLIES, OAuthClient, UpstreamSpec, may_forward

MEMBER: Final = "mcpServers"
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s{}\[\],:"]+')
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*)(?::-((?:[^}$]|\$(?!\{))*))?\}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_OTHERS: Final = frozenset(
    {"type", "transport", "description", "autoApprove", "alwaysAllow", "name"}
)
"""Members that other programs know."""
_LIKENESS: Final = 0.8

MemberPath = tuple[str | int, ...]


class _Wanted(NamedTuple):
    """The type of a member: a test, and its description in an error."""

    is_valid: Callable[[Any], bool]
    description: str


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < inf


def _are_headers(value: Any) -> bool:
    return isinstance(value, list) and all(map(may_forward, value))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and value.lower().startswith(("http://", "https://", "${"))


_MEMBERS: Final[Mapping[str, _Wanted]] = {
    "command": _Wanted(_is_filled, "a program"),
    "args": _Wanted(_are_texts, "an array of strings"),
    "env": _Wanted(_is_table, "an object of strings"),
    "cwd": _Wanted(_is_filled, "a folder"),
    "url": _Wanted(_is_url, "an http:// or https:// URL"),
    "headers": _Wanted(_is_table, "an object of strings"),
    "disabled": _Wanted(lambda value: isinstance(value, bool), "true or false"),
    "only": _Wanted(_are_texts, "an array of patterns"),
    "prefix": _Wanted(_is_text, "a string"),
    "replies": _Wanted(lambda value: value in REPLIES, f"one of {', '.join(REPLIES)}"),
    "timeout": _Wanted(_is_time, "a number of seconds"),
    "max_calls": _Wanted(_is_count, "a whole number above 0"),
    "lifetime": _Wanted(_is_time, "a number of seconds"),
    "auth": _Wanted(lambda value: isinstance(value, dict), "an object with a client_id"),
    "forward": _Wanted(_are_headers, "an array of headers that may be forwarded"),
}
_AUTH_MEMBERS: Final[Mapping[str, _Wanted]] = {
    "client_id": _Wanted(_is_filled, "a string"),
    "client_secret": _Wanted(_is_filled, "a string"),
    "issuer": _Wanted(_is_url, "an http:// or https:// URL"),
    "scopes": _Wanted(_are_texts, "an array of strings"),
    "exchange": _Wanted(lambda value: isinstance(value, bool), "true or false"),
    "audience": _Wanted(_is_filled, "a string"),
}
_FOR_COMMAND: Final = ("args", "env", "cwd", "lifetime")
_FOR_URL: Final = ("headers", "auth", "forward")
_OWN: Final = ("only", "prefix", "replies", "timeout", "forward", "max_calls", "lifetime")


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file."""
    found: dict[str, Any] = msgspec.json.decode(
        files("accord.gateway").joinpath("config_schema.json").read_bytes()
    )
    return found


def read_config(path: Path, environment: Mapping[str, str] | None = None) -> list[UpstreamSpec]:
    """Return the servers of a file in its order, without disabled ones; raise ContractError."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
        content = msgspec.json.decode(text)
    except OSError as error:
        raise ContractError(f"could not read {path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ContractError(f"{path} is not valid JSON: {error}") from error
    return _Reader(path, text, os.environ if environment is None else environment).read(content)


class _Reader:
    """Checks the content of a file."""

    def __init__(self, path: Path, text: str, environment: Mapping[str, str]) -> None:
        self._path = path
        self._lines = dict(_lines_of(text))
        self._environment = environment

    def read(self, content: Any) -> list[UpstreamSpec]:
        servers = content.get(MEMBER) if isinstance(content, dict) else None
        if not isinstance(servers, dict):
            raise self._fault((), f'must be {{"{MEMBER}": {{NAME: {{"command": …}}}}}}')
        found = []
        for name, entry in servers.items():
            if _NAME.fullmatch(name) is None:
                raise self._fault((MEMBER, name), "must be a name of letters, digits, _ . or -")
            spec = self._server(name, entry)
            if spec is not None:
                found.append(spec)
        if not found:
            raise self._fault((MEMBER,), "has no server that is enabled")
        return found

    def _server(self, name: str, entry: Any) -> UpstreamSpec | None:
        at = (MEMBER, name)
        if not isinstance(entry, dict):
            raise self._fault(at, "must be an object with a command or a url")
        for key, value in entry.items():
            self._check(at, key, value, _MEMBERS)
        if entry.get("disabled"):
            return None
        has_command, has_url = "command" in entry, "url" in entry
        if has_command == has_url:
            what = "not both" if has_url else "and has neither"
            raise self._fault(at, f"must have a command or a url, {what}")
        wrong = [key for key in _FOR_COMMAND if key in entry] if has_url else []
        wrong += [key for key in _FOR_URL if key in entry] if has_command else []
        if wrong:
            raise self._fault((*at, wrong[0]), f"is not for a {'url' if has_url else 'command'}")
        self._check_credentials(at, entry)
        return self._spec(name, at, entry)

    def _check_credentials(self, at: MemberPath, entry: Mapping[str, Any]) -> None:
        headers = [each.lower() for each in entry.get("headers", {})]
        for number, header in enumerate(entry.get("forward", ())):
            if header.lower() in headers:
                raise self._fault((*at, "forward", number), "has a value in headers")
        auth = entry.get("auth")
        if auth is None:
            return
        if "authorization" in headers:
            raise self._fault((*at, "auth"), "must not be given beside headers.Authorization")
        for key, value in auth.items():
            self._check((*at, "auth"), key, value, _AUTH_MEMBERS)
        needed = ["client_id", "client_secret", *(["issuer"] if auth.get("exchange") else [])]
        missing = [key for key in needed if key not in auth]
        if missing:
            raise self._fault((*at, "auth"), f"must have {' and '.join(missing)}")

    def _spec(self, name: str, at: MemberPath, entry: Mapping[str, Any]) -> UpstreamSpec:
        given = {key: self._expanded((*at, key), entry[key]) for key in entry if key not in _OTHERS}
        options = {key: given[key] for key in _OWN if key in given}
        if "url" in given:
            return UpstreamSpec(
                name=name,
                url=given["url"],
                headers=given.get("headers", {}),
                auth=OAuthClient(**given["auth"]) if "auth" in given else None,
                **options,
            )
        cwd = given.get("cwd")
        folder = self._path.absolute().parent
        return UpstreamSpec(
            name=name,
            command=[given["command"], *given.get("args", ())],
            env=given.get("env", {}),
            cwd=None if cwd is None else str(folder / Path(cwd).expanduser()),
            **options,
        )

    def _check(self, at: MemberPath, key: str, value: Any, members: Mapping[str, _Wanted]) -> None:
        wanted = members.get(key)
        if wanted is not None:
            if not wanted.is_valid(value):
                raise self._fault((*at, key), f"must be {wanted.description}")
            return
        meant = [] if key in _OTHERS else get_close_matches(key, members, 1, _LIKENESS)
        if meant or members is _AUTH_MEMBERS:
            hint = f"; did you mean {meant[0]}?" if meant else ""
            raise self._fault((*at, key), f"is not known{hint}")

    def _expanded(self, at: MemberPath, value: Any) -> Any:
        """Return a value with the variables of the environment in its texts."""
        if isinstance(value, list):
            return [self._expanded((*at, number), each) for number, each in enumerate(value)]
        if isinstance(value, dict):
            return {name: self._expanded((*at, name), each) for name, each in value.items()}
        if not isinstance(value, str):
            return value

        def variable(found: re.Match[str]) -> str:
            name, otherwise = found.groups()
            text = self._environment.get(name, otherwise)
            if text is None:
                raise self._fault(at, f"names ${{{name}}}, which is not set")
            return text

        return _VARIABLE.sub(variable, value)

    def _fault(self, at: MemberPath, fault: str) -> ContractError:
        """Return an error with the line of the member, or of what holds it."""
        inner = at
        while inner and inner not in self._lines:
            inner = inner[:-1]
        named = ".".join(str(each) for each in at[1:]) or (MEMBER if at else "it")
        return ContractError(f"{self._path}:{self._lines.get(inner, 1)}: {named} {fault}")


def _lines_of(text: str) -> Iterator[tuple[MemberPath, int]]:
    """Yield the path and the line of each member and item of valid JSON."""
    path: list[str | int] = []
    line, at, key = 1, 0, ""
    is_item = False
    for token in _TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at = token.start()
        word = token.group()
        if is_item and word != "]":
            yield tuple(path), line
        is_item = word == "[" or (word == "," and isinstance(path[-1], int))
        match word:
            case "{":
                path.append("")
            case "[":
                path.append(0)
            case "}" | "]":
                path.pop()
            case "," if isinstance(path[-1], int):
                path[-1] += 1
            case ":":
                path[-1] = key
                yield tuple(path), line
            case _ if word.startswith('"'):
                key = msgspec.json.decode(word)


def changed_paths(paths: Sequence[Path], stamps: dict[Path, Any]) -> list[Path]:
    """Return the files that have changed since the last time, which `stamps` remembers."""
    changed = []
    for path in paths:
        try:
            found = path.stat()
            stamp: Any = (found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:  # an editor is replacing it
            continue
        if stamps.setdefault(path, stamp) != stamp:
            stamps[path] = stamp
            changed.append(path)
    return changed
