"""How many examples hypothesis tries: `make test` few, `make test-long` many."""

from typing import Final

import hypothesis

FEW: Final = 100
TIMES: Final = 10

_USUAL: Final = hypothesis.settings(
    # How busy a machine is says nothing about us.
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)


def register() -> None:
    """Register the profiles, and load the one that `make test-all` runs."""
    register_profile = hypothesis.settings.register_profile
    register_profile("usual", _USUAL)
    register_profile("few", _USUAL, max_examples=FEW // 2)
    register_profile("many", _USUAL, max_examples=FEW * TIMES)
    hypothesis.settings.load_profile("usual")


def examples(number: int) -> int:
    """This number of examples, as the profile has it: at most a hundred, or ten times as many."""
    match hypothesis.settings.get_current_profile_name():
        case "few":
            return min(number, FEW)
        case "many":
            return number * TIMES
        case _:
            return number
