"""How an answer is worded inside a tool result: one file a profile, and the table of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from accord.errors import ContractError
from accord.profiles import bare, envelope, generic, plain, prose
from accord.profiles.profile import Profile, RenderContext, Result, TextResult

PROFILES: Final = MappingProxyType[str, Profile](
    {each.PROFILE.name: each.PROFILE for each in (plain, envelope, bare, prose, generic)}
)
_ASKED_BY: Final = "dev.accord-mcp/profile"
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
    """The profile of that name, or an error that lists the ones there are."""
    if name not in PROFILES:
        raise ContractError(f"no profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]


def asking_for(name: str) -> dict[str, Any]:
    """The capabilities of a client that asks for a profile."""
    return {"extensions": {_ASKED_BY: {"name": profile_named(name).name}}}


def profile_asked(capabilities: Mapping[str, Any]) -> Profile | None:
    """The profile that a client asks for, if it asks for one that there is."""
    experimental = capabilities.get("experimental")
    for place in (capabilities.get("extensions"), experimental):
        if isinstance(place, dict) and _ASKED_BY in place:
            asked = place[_ASKED_BY]
            name = asked.get("name") if isinstance(asked, dict) else None
            if isinstance(name, str) and name in PROFILES:
                return PROFILES[name]
    wants_v2 = isinstance(experimental, dict) and isinstance(experimental.get(_CONTRACT), dict)
    return envelope.PROFILE if wants_v2 else None
