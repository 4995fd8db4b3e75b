"""The table of what crosses the gateway between revisions, as the tests of the gateway have it."""

import json
from collections.abc import Sequence

from accord.revisions import REVISIONS

NAMES = {"form": "forms", "page": "pages"}


def generate(text: str) -> str:
    """Return the table; `text` is the JSON that the tests check."""
    found = json.loads(text)
    dates = list(REVISIONS)
    every = max((found[front][upstream] for front in dates for upstream in dates), key=len)
    head = f"| client \\ upstream | {' | '.join(dates)} |"
    rows = [
        f"| **{front}** | {' | '.join(_cell(found[front][up], every) for up in dates)} |"
        for front in dates
    ]
    everything = f"All: {', '.join(NAMES.get(each, each) for each in every)}."
    return "\n".join([head, "|---" * (len(dates) + 1) + "|", *rows, "", everything])


def _cell(crossing: Sequence[str], every: Sequence[str]) -> str:
    lacking = [NAMES.get(each, each) for each in every if each not in crossing]
    return f"all but {', '.join(lacking)}" if lacking else "all"
