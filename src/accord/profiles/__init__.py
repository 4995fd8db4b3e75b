"""Profiles render an answer as a tool result; one module each, and the table of them here.

Read `profile` first (the interface and shared parts), then `plain`; `bare` is based on it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from accord.errors import ContractError
from accord.profiles import bare, envelope, generic, plain, prose
from accord.profiles.profile import Profile, RenderContext, Result, TextResult

PROFILES: Final = MappingProxyType[str, Profile](
    {each.PROFILE.name: each.PROFILE for each in (plain, envelope, bare, prose, generic)}
)
_KEY: Final = "dev.accord-mcp/profile"
_CONTRACT: Final = "response_contract_v2"

__all__ = [
    "PROFILES",
    "TextResult",
    "Profile",
    "Result",
    "RenderContext",
    "asking_for",
    "profile_asked",
    "profile_named",
]


def profile_named(name: str) -> Profile:
    """Return the profile of that name; an unknown name is a ContractError that lists all."""
    if name not in PROFILES:
        raise ContractError(f"no profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]


def asking_for(name: str) -> dict[str, Any]:
    """Return the client capabilities that request a profile."""
    return {"extensions": {_KEY: {"name": profile_named(name).name}}}


def profile_asked(capabilities: Mapping[str, Any]) -> Profile | None:
    """Return the profile that a client requests, or None; unknown ones are ignored."""
    experimental = capabilities.get("experimental")
    for place in (capabilities.get("extensions"), experimental):
        if isinstance(place, dict) and _KEY in place:
            requested = place[_KEY]
            name = requested.get("name") if isinstance(requested, dict) else None
            if isinstance(name, str) and name in PROFILES:
                return PROFILES[name]
    wants_v2 = isinstance(experimental, dict) and isinstance(experimental.get(_CONTRACT), dict)
    return envelope.PROFILE if wants_v2 else None
