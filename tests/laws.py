"""How many examples hypothesis tries."""

import hypothesis

MOST = 100
"""In the profile `quick`, which `make test` chooses."""


def at_most(number: int) -> int:
    """As many examples as that, in `make test` no more than a hundred."""
    quick = hypothesis.settings.get_current_profile_name() == "quick"
    return min(number, MOST) if quick else number
