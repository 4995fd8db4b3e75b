"""What decorators say of a view: which of its actions are tools, and what they are called."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec

from accord.errors import ContractError

_MARK: Final = "accord_mark"
Marked = TypeVar("Marked", bound=Callable[..., Any])


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What an author says of a viewset, or of one action."""

    name: str | None = None
    """Of an action, the tool's name; of a viewset, what the names of its tools begin with."""
    description: str | None = None
    title: str | None = None
    actions: frozenset[str] | None = None
    """Of a viewset, the actions that are tools; all of them if left out."""


_UNMARKED: Final = Mark()


def mcp_viewset(
    *, actions: Iterable[str] | None = None, name: str | None = None
) -> Callable[[Marked], Marked]:
    """Choose which `actions` of a viewset are tools, and what their names begin with.

    For a view that is no viewset, actions are its methods: `get`, `post`.
    """
    if isinstance(actions, str):
        raise ContractError(f"actions are several names: [{actions!r}]")

    def mark(viewset: Marked) -> Marked:
        chosen = None if actions is None else frozenset(actions)
        for action in sorted(chosen or ()):
            if not hasattr(viewset, action):
                raise ContractError(f"{viewset.__name__} has no action {action!r}")
        setattr(viewset, _MARK, Mark(name=name, actions=chosen))
        return viewset

    return mark


def mcp_tool(
    *, name: str | None = None, description: str | None = None, title: str | None = None
) -> Callable[[Marked], Marked]:
    """Say what the tool of one action is called, and what it does."""

    def mark(action: Marked) -> Marked:
        setattr(action, _MARK, Mark(name=name, description=description, title=title))
        return action

    return mark


def mark_of(marked: Any) -> Mark:
    """What was said of a view or an action; of a class, by itself or a base of it."""
    mark = getattr(marked, _MARK, None)
    return mark if isinstance(mark, Mark) else _UNMARKED


def is_marked(view: type, action: str) -> bool:
    """Whether somebody has picked this action, or the view that it is of."""
    return hasattr(view, _MARK) or hasattr(getattr(view, action, None), _MARK)
