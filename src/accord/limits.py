"""Cutting an answer to size: whole items, or a text between two characters, never silently."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import msgspec

from accord.answer import Answer, Encoded, Notice, Page, Problem, Said

DEFAULT_MAX_BYTES: Final = 256 * 1024

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_string = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


class Place(msgspec.Struct, frozen=True):
    """A point in an answer's data: the list or text at `path`, behind its first `skip` parts."""

    path: tuple[str, ...] = ()
    skip: int = 0


class Way(NamedTuple):
    """How the rest can be had: a cursor, and what to do with it."""

    cursor: str | None
    words: str


NO_WAY: Final = Way(None, "ask for less at a time")


class Whole(NamedTuple):
    """What an answer is cut by: the items of a list, or the characters of a text."""

    place: Place
    parts: Sequence[Any]

    @property
    def is_list(self) -> bool:
        """Whether it has items."""
        return not isinstance(self.parts, str)


def resume(answer: Answer[Said], place: Place) -> Answer[Said]:
    """What is left of an answer behind a place in it."""
    parts = _at(answer.data, place.path)
    if parts is None:
        raise Problem.conflict("The answer has changed since the cursor was made; start again")
    whole = Whole(place, parts)
    answer = _with_parts(answer, whole, parts[place.skip :])
    if not whole.is_list:
        return answer
    page = answer.page or Page(total=len(parts), has_more=False)
    offset = (page.offset or 0) + place.skip
    return msgspec.structs.replace(answer, page=msgspec.structs.replace(page, offset=offset))


def cut(
    answer: Answer[Said],
    begun: Place | None,
    limit: int,
    *,
    fits: Callable[[Answer[Said]], bool],
    way: Callable[[Place], Way],
) -> Answer[Said]:
    """As much of an answer as fits, with a warning, a page and a way to the rest.

    It is cut in its largest part, or in the one where it has been cut before. What cannot be cut
    is a Problem.
    """
    for said in (answer, _with_short_words(answer, limit)):
        if said is not answer and fits(said):
            return said
        cut_answer = _cut_data(said, begun, limit, fits, way)
        if cut_answer is not None:
            return cut_answer
    raise _too_large(limit)


def _cut_data(
    answer: Answer[Said],
    begun: Place | None,
    limit: int,
    fits: Callable[[Answer[Said]], bool],
    way: Callable[[Place], Way],
) -> Answer[Said] | None:
    whole = _largest(answer.data) if begun is None else _whole(answer, begun)
    if whole is None:
        return None

    def part(kept: int) -> Answer[Said]:
        return _part(answer, whole, kept, limit, way)

    most = _most(whole, limit)
    kept = bisect_left(range(most + 1), True, key=lambda kept: not fits(part(kept))) - 1
    if kept > 0:
        return part(kept)
    if kept == 0 and whole.is_list and whole.parts:
        return _without_first(answer, whole, limit, way)
    return None


def _at(data: Said, path: Sequence[str]) -> Sequence[Any] | None:
    """The items or the text at a path, if there is such a thing."""
    if isinstance(data, str):
        return None if path else data
    json = data.json
    for name in path:
        inner = _members(json).get(name) if json[:1] == b"{" else None
        if inner is None:
            return None
        json = bytes(inner)
    match json[:1]:
        case b"[":
            return _items(json)
        case b'"':
            return _string(json)
    return None


def _whole(answer: Answer[Said], begun: Place) -> Whole:
    """What was cut before: `resume` has left out what came before the place."""
    parts = _at(answer.data, begun.path)
    return Whole(begun, () if parts is None else parts)


def _largest(data: Said) -> Whole | None:
    """The list or text that makes an answer large: always the largest member, down to one."""
    path: list[str] = []
    json = b"" if isinstance(data, str) else data.json
    while json[:1] == b"{" and (members := _members(json)):
        name = max(members, key=lambda name: len(bytes(members[name])))
        path.append(name)
        json = bytes(members[name])
    parts = _at(data, path)
    return None if parts is None else Whole(Place(tuple(path)), parts)


def _most(whole: Whole, limit: int) -> int:
    """No more parts than this can fit: each is at least as long as its JSON."""
    if not whole.is_list:
        return min(len(whole.parts), limit)
    lengths = accumulate(len(bytes(item)) + 1 for item in whole.parts)
    return next((kept for kept, length in enumerate(lengths) if length > limit), len(whole.parts))


def _with_parts(answer: Answer[Said], whole: Whole, parts: Sequence[Any]) -> Answer[Said]:
    if isinstance(answer.data, str):
        return msgspec.structs.replace(answer, data=str(parts))
    json = _encode(parts)
    return msgspec.structs.replace(
        answer, data=Encoded(_put(answer.data.json, whole.place.path, json))
    )


def _put(json: bytes, path: Sequence[str], value: bytes) -> bytes:
    if not path:
        return value
    members = _members(json)
    members[path[0]] = msgspec.Raw(_put(bytes(members[path[0]]), path[1:], value))
    return _encode(members)


def _part(
    answer: Answer[Said], whole: Whole, kept: int, limit: int, way: Callable[[Place], Way]
) -> Answer[Said]:
    first = whole.place.skip
    count = first + len(whole.parts)
    next_place = Place(whole.place.path, first + kept)
    rest = way(next_place)
    unit = "items" if whole.is_list else "characters"
    words = f"{unit} {first + 1:,} to {first + kept:,} of {count:,} are here"
    cut_answer = _with_parts(answer, whole, whole.parts[:kept])
    return _say(cut_answer, _page(answer, whole, kept, rest), limit, words, rest)


def _without_first(
    answer: Answer[Said], whole: Whole, limit: int, way: Callable[[Place], Way]
) -> Answer[Said]:
    """For an item that is too large by itself: all one can do is to go on behind it."""
    first = whole.place.skip
    rest = way(Place(whole.place.path, first + 1))
    words = f"item {first + 1:,} of {first + len(whole.parts):,} alone is larger, and left out"
    empty = _with_parts(answer, whole, whole.parts[:0])
    return _say(empty, _page(answer, whole, 1, rest), limit, words, rest)


def _page(answer: Answer[Said], whole: Whole, passed: int, rest: Way) -> Page | None:
    """Where the answer now ends. A way on that its author gave would leave out what was cut."""
    if not whole.is_list:
        return answer.page if rest.cursor is None else Page(has_more=True, cursor=rest.cursor)
    page = answer.page
    if page is None:
        total = whole.place.skip + len(whole.parts)
        return Page(total=total, has_more=True, cursor=rest.cursor)
    is_first = not whole.place.skip  # else the offset is ours, and the tool may not take one
    counts = page.next_offset is not None or (page.offset is not None and is_first)
    return msgspec.structs.replace(
        page,
        has_more=True,
        cursor=rest.cursor,
        after=None,
        next_offset=(page.offset or 0) + passed if counts else None,
    )


def _say(
    answer: Answer[Said], page: Page | None, limit: int, words: str, rest: Way
) -> Answer[Said]:
    warning = Notice(
        f"Cut to fit {limit:,} bytes: {words}; {rest.words}", code="TRUNCATED", severity="warning"
    )
    return msgspec.structs.replace(
        answer, page=page, truncated=True, warnings=(*answer.warnings, warning)
    )


def _with_short_words(answer: Answer[Said], limit: int) -> Answer[Said]:
    """An answer whose own words leave room for more."""
    for name in ("message", "text"):
        words: str | None = getattr(answer, name)
        if words is not None and (shorter := shorten(words, limit // 2)) != words:
            said = f"the first {len(shorter):,} of {len(words):,} characters of its {name} are here"
            answer = msgspec.structs.replace(answer, **{name: shorter})
            answer = _say(answer, answer.page, limit, said, NO_WAY)
    return answer


def shorten(words: str, limit: int) -> str:
    """As much of a text as has so many bytes."""
    return words.encode()[:limit].decode(errors="ignore")


def _too_large(limit: int) -> Problem:
    return Problem.internal(
        f"The answer is larger than {limit:,} bytes and cannot be cut",
        code="TOO_LARGE",
        remediation=NO_WAY.words,
    )
