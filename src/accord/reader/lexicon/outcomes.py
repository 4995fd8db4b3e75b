"""The words by which a reply reports the outcome of an action."""

from typing import Final

from accord.reader.lexicon import words

PARTICIPLES: Final = words("outcomes.done")
"""Words that report a completed action: `The file was created`."""


def base_forms(word: str) -> tuple[str, ...]:
    """Return the verbs that a word may be a form of: `stop` of `stopped`, `move` of `moving`."""
    for ending in ("ied", "ed", "ing", "en"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 1:
            if ending == "ied":
                return (root + "y",)
            return (root, root + "e", root[:-1]) if root[-1] == root[-2] else (root, root + "e")
    return ()
