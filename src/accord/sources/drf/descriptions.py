"""Descriptions of tools, from docstrings, models and URLs."""

import inspect
import re
from collections.abc import Collection
from typing import Any, Final

from accord.sources.drf.naming import STANDARD_ACTIONS, noun_of, verb_of
from accord.sources.drf.routes import ViewRoute, methods_of
from accord.sources.drf.views import model_of

_HEADER: Final = re.compile(r"([A-Za-z_]\w*):[ \t]*(.*)")
_SENTENCES: Final = {
    "list": ("List {many}.", "List {noun}."),
    "retrieve": ("Retrieve one {one}.", "Retrieve one entry of {noun}."),
    "create": ("Create a new {one}.", "Create an entry of {noun}."),
    "update": ("Replace one {one}.", "Replace one entry of {noun}."),
    "partial_update": (
        "Change some fields of one {one}.",
        "Change some fields of one entry of {noun}.",
    ),
    "destroy": ("Delete one {one}.", "Delete one entry of {noun}."),
}
"""Sentences for the standard actions, with a model and without."""
_COMMON_LETTERS: Final = 2  # that a word and its plural have: person, people


def description_of(route: ViewRoute, view: Any) -> str:
    """Return an action's docstring or its section of the view's, else a sentence for its kind."""
    docstring = inspect.getdoc(route.handler)
    if docstring and not _is_framework(route.handler):
        return docstring
    action = verb_of(route) or route.method
    sections = _sections(_docstring(route.view), _actions(route))
    own = sections.get(route.action) or sections.get(action)
    if own:
        return own
    general = sections.get("", "")
    first = _sentence(route, view, action)
    return f"{first}\n\n{general}" if general else first


def dedented(text: Any) -> str:
    """Return a text without the indentation and the blank lines around it that its source has."""
    return inspect.cleandoc(str(text))


def _docstring(view: type) -> str:
    has_own = "__doc__" in vars(view) and not _is_framework(view)
    return inspect.cleandoc(view.__doc__ or "") if has_own else ""


def _is_framework(owner: Any) -> bool:
    return bool(owner.__module__.startswith("rest_framework."))


def _actions(route: ViewRoute) -> frozenset[str]:
    """Return every name that may be the header of a section: actions and methods of the view."""
    extra: list[Any] = getattr(route.view, "get_extra_actions", list)()
    names = {each.__name__ for each in extra} | set(STANDARD_ACTIONS)
    return frozenset(name for name in names if hasattr(route.view, name)) | methods_of(route.view)


def _sections(text: str, headers: Collection[str]) -> dict[str, str]:
    """Return the sections of a docstring by header (`list:`), what is before them as ``""``."""
    found: dict[str, list[str]] = {"": []}
    header = ""
    for line in text.splitlines():
        match = _HEADER.fullmatch(line)
        if match is not None and match[1] in headers:
            header, line = match[1], match[2]  # noqa: PLW2901 - the rest of the line
            found[header] = []
        found[header].append(line)
    return {name: inspect.cleandoc("\n".join(lines)) for name, lines in found.items()}


def _sentence(route: ViewRoute, view: Any, action: str) -> str:
    sentences = _SENTENCES.get(action)
    if sentences is None:
        return f"{route.method.upper()} /{route.template}"
    noun, model = noun_of(route), model_of(view)
    if model is None:
        return sentences[1].format(noun=noun)
    one = str(model._meta.verbose_name)
    return sentences[0].format(one=one, many=_plural(model, one, noun))


def _plural(model: Any, one: str, noun: str) -> str:
    """Return the plural that the project has written itself; else a wording without a plural.

    Django makes a plural with an `s`, whatever the word is; the URL often has the right one.
    """
    if "verbose_name_plural" in model._meta.original_attrs:
        return str(model._meta.verbose_name_plural)
    given, single = noun.casefold(), one.casefold()
    is_plural = given != single and given[:_COMMON_LETTERS] == single[:_COMMON_LETTERS]
    return noun if is_plural else f"every {one}"
