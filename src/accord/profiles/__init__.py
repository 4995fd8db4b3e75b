"""How an answer is worded inside a tool result: one file a profile, and the table of them."""

from types import MappingProxyType
from typing import Final

from accord.errors import ContractError
from accord.profiles import plain
from accord.profiles.profile import Profile

PROFILES: Final = MappingProxyType({profile.name: profile for profile in (plain.PROFILE,)})

__all__ = ["PROFILES", "Profile", "profile_named"]


def profile_named(name: str) -> Profile:
    """The profile of that name, or an error that lists the ones there are."""
    if name not in PROFILES:
        raise ContractError(f"no profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]
