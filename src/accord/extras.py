"""The extras of the package: which are installed, and the command that installs one here."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

DISTRIBUTION: Final = "accord-mcp"
_ALL: Final = "all"
_DISTRIBUTION: Final = re.compile(r"[\w.-]+")
_EXTRA: Final = re.compile(r"\bextra == ['\"]([\w-]+)['\"]")
_OF_UVX: Final = ("archive-v", "environments-v")
"""Folders in the cache of uv, where uvx makes its environments."""
_PLATFORM: Final = re.compile(r"sys_platform (==|!=) ['\"](\w+)['\"]")


def missing(what: str, extra: str) -> str:
    """Return the message for a feature whose extra is not installed."""
    return f"the extra {extra} is required for {what}: {install_command(extra)}"


def install_command(extra: str) -> str:
    """Return the command that installs an extra into the environment of this process."""
    return _Place.here().command(extra)


def version() -> str:
    """Return the version of the package."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    try:
        return version_of(DISTRIBUTION)
    except PackageNotFoundError:  # the source is on the path, without an installation
        return "(not installed)"


def version_text() -> str:
    """Return what `accord --version` prints."""
    lines = [f"accord {version()}"]
    found = extras()
    present = [name for name, lacking in found.items() if not lacking]
    absent = [name for name, lacking in found.items() if lacking]
    lines.append(f"extras: {', '.join(present) or 'none'}")
    if absent:
        lines.append(f"not installed: {', '.join(absent)}")
    return "\n".join(lines) + "\n"


@cache
def extras() -> Mapping[str, tuple[str, ...]]:
    """Return the extras, each with the distributions that it lacks."""
    from importlib.metadata import PackageNotFoundError, distribution

    found: dict[str, tuple[str, ...]] = {}
    for extra, name in _requirements():
        try:
            distribution(name)
        except PackageNotFoundError:
            found[extra] = (*found.get(extra, ()), name)
        else:
            found.setdefault(extra, ())
    return dict(sorted(found.items()))


def _requirements() -> Iterator[tuple[str, str]]:
    """Yield each extra with the name of a distribution that it requires on this platform."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return
    for line in lines:
        name, extra = _DISTRIBUTION.match(line), _EXTRA.search(line)
        platform = _PLATFORM.search(line)
        if platform is not None and (platform[1] == "==") != (sys.platform == platform[2]):
            continue
        if name and extra and extra[1] != _ALL and name[0] != DISTRIBUTION:
            yield extra[1], name[0]


class _Place(NamedTuple):
    """How the package came to be here."""

    prefix: Path
    source: str | None
    """The folder of a clone, or the URL of a file, that it was installed from."""
    is_editable: bool

    @classmethod
    def here(cls) -> "_Place":
        """Return the place of this process."""
        import json
        from importlib.metadata import PackageNotFoundError, distribution

        prefix = Path(sys.prefix)
        try:
            text = distribution(DISTRIBUTION).read_text("direct_url.json")
        except PackageNotFoundError:
            folder = Path(__file__).parents[2]
            return cls(prefix, str(folder), is_editable=True)
        told = json.loads(text) if text else {}
        is_folder = "dir_info" in told
        url = told.get("url")
        if not is_folder or not isinstance(url, str):
            return cls(prefix, url, is_editable=False)
        from urllib.parse import unquote, urlsplit

        is_editable = bool(told["dir_info"].get("editable"))
        return cls(prefix, unquote(urlsplit(url).path), is_editable)

    def command(self, extra: str) -> str:
        """Return the command that installs an extra."""
        from shlex import quote

        editable = "--editable " if self.is_editable else ""
        program = self._program()
        if program is not None:  # it makes a new environment, without the extras of this one
            others = [name for name, lacking in extras().items() if not lacking]
            return program.format(editable, quote(self._requirement(*others, extra)))
        return f"{self._installer()} {editable}{quote(self._requirement(extra))}"

    def _program(self) -> str | None:
        """Return the command of the program that made this environment; None if it has pip."""
        if (self.prefix / "uv-receipt.toml").is_file():
            return "uv tool install --force {0}{1}"
        if (self.prefix / "pipx_metadata.json").is_file():
            return "pipx install --force {0}{1}"
        if any(part.startswith(_OF_UVX) for part in self.prefix.parts):
            return "uvx --from {1} accord"
        return None

    def _requirement(self, *names: str) -> str:
        wanted = ",".join(names)
        if self.source is None:
            return f"{DISTRIBUTION}[{wanted}]"
        if self.source.startswith("/"):
            return f"{_relative(self.source)}[{wanted}]"
        return f"{DISTRIBUTION}[{wanted}] @ {self.source}"

    def _installer(self) -> str:
        """Return the beginning of a command that installs into this environment."""
        from importlib.util import find_spec
        from shlex import quote
        from shutil import which

        python = quote(sys.executable)
        if find_spec("pip") is None:
            if which("uv"):
                return f"uv pip install --python {python}"
            return f"pip --python {python} install" if which("pip") else f"{python} -m pip install"
        pip = which("pip")
        is_here = pip is not None and Path(pip).parent == Path(sys.executable).parent
        return "pip install" if is_here else f"{python} -m pip install"


def _relative(folder: str) -> str:
    """Return a folder as `.` if it is the current one."""
    return "." if folder == os.getcwd() else folder  # noqa: PTH109 - compared as text
