"""Cutting an answer to size: whole items, or a text between two characters, never silently."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from itertools import accumulate
from typing import Any, Final, NamedTuple

import msgspec

from accord.model.answer import Answer, Encoded, Notice, Page, Problem, Said
from accord.model.content import Block, Embedded

DEFAULT_MAX_BYTES: Final = 256 * 1024
_NOTICE_MARKS: Final = 64  # what a warning has around its words
_MOST_CUT: Final = 8  # lists and texts of one answer that are cut
_DEEPEST: Final = 16  # objects within each other that are looked into

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


def resume(answer: Answer[Said], place: Place, *, is_whole: bool = True) -> Answer[Said]:
    """What is left of an answer behind a place in it.

    It `is_whole` if the tool gave all there is, and not a page of its own choice.
    """
    parts = _at(answer.data, place.path)
    if parts is None:
        raise Problem.conflict("The answer has changed since the cursor was made; start again")
    whole = Whole(place, parts)
    rest = _with_parts(answer, whole, parts[place.skip :])
    page = answer.page
    if page is None and whole.is_list and is_whole:
        page = Page(offset=place.skip, total=len(parts), has_more=False)
    elif page is None:
        page = Page(has_more=False)
    elif page.offset is not None:
        page = msgspec.structs.replace(page, offset=page.offset + place.skip)
    return msgspec.structs.replace(rest, page=page)


class Cutter(msgspec.Struct, frozen=True):
    """Cuts one answer to a size, in its largest part or in the one where it was cut before."""

    limit: int
    fits: Callable[[Answer[Said]], bool]
    way: Callable[[Place], Way]
    begun: Place | None = None
    is_whole: bool = True

    def cut(self, answer: Answer[Said]) -> Answer[Said]:
        """As much of an answer as fits, with a warning, a page and a way to the rest.

        What cannot be cut is a Problem.
        """
        found = self._cut_data(answer)
        for share in (2, 8, 32):
            if found is not None:
                return found
            less = _with_less(answer, self.limit, share)
            if less != answer:
                found = less if self.fits(less) else self._cut_data(less)
        if found is None:
            raise too_large(self.limit)
        return found

    def _cut_data(self, answer: Answer[Said]) -> Answer[Said] | None:
        whole = _largest(answer.data) if self.begun is None else _whole(answer, self.begun)
        if whole is None:
            return None
        for way in (self.way, _no_way):  # a cursor may itself be too long
            if self.fits(self._part(answer, whole, 0, way)):
                return self._most_of(answer, whole, way)
        return None

    def _most_of(
        self, answer: Answer[Said], whole: Whole, way: Callable[[Place], Way]
    ) -> Answer[Said] | None:
        def part(kept: int) -> Answer[Said]:
            return self._part(answer, whole, kept, way)

        most = _most(whole, self.limit)
        kept = bisect_left(range(most + 1), True, key=lambda kept: not self.fits(part(kept))) - 1
        if kept > 0:
            return part(kept)
        if whole.is_list and whole.parts:
            without = self._without_first(answer, whole, way)
            return without if self.fits(without) else None
        return None

    def _part(
        self, answer: Answer[Said], whole: Whole, kept: int, way: Callable[[Place], Way]
    ) -> Answer[Said]:
        first = whole.place.skip
        count = first + len(whole.parts)
        rest = way(Place(whole.place.path, first + kept))
        unit = "items" if whole.is_list else "characters"
        words = f"{unit} {first + 1:,} to {first + kept:,} of {count:,} are here"
        part = _with_parts(answer, whole, whole.parts[:kept])
        return _say(part, self._page(answer, whole, kept, rest), self.limit, words, rest)

    def _without_first(
        self, answer: Answer[Said], whole: Whole, way: Callable[[Place], Way]
    ) -> Answer[Said]:
        """For an item that is too large by itself: all one can do is to go on behind it."""
        first = whole.place.skip
        rest = way(Place(whole.place.path, first + 1))
        words = f"item {first + 1:,} of {first + len(whole.parts):,} alone is larger, and left out"
        empty = _with_parts(answer, whole, whole.parts[:0])
        return _say(empty, self._page(answer, whole, 1, rest), self.limit, words, rest)

    def _page(self, answer: Answer[Said], whole: Whole, passed: int, rest: Way) -> Page | None:
        """Where the answer now ends. A way on that its author gave would leave out what was cut."""
        if not whole.is_list:
            return answer.page if rest.cursor is None else Page(has_more=True, cursor=rest.cursor)
        page = answer.page
        if page is None:
            total = whole.place.skip + len(whole.parts) if self.is_whole else None
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


def _no_way(place: Place) -> Way:
    return NO_WAY


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
    """The largest list or text of an answer: itself, or a member of it, or a member of that."""
    if isinstance(data, str):
        return Whole(Place(), data)
    _, path = max(_candidates(data.json, ()), default=(0, None))
    parts = None if path is None else _at(data, path)
    return None if path is None or parts is None else Whole(Place(path), parts)


def _candidates(json: bytes, path: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    if json[:1] in (b"[", b'"'):
        yield len(json), path
    elif json[:1] == b"{" and len(path) < _DEEPEST:
        for name, member in _members(json).items():
            yield from _candidates(bytes(member), (*path, name))


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


def _say(
    answer: Answer[Said], page: Page | None, limit: int, words: str, rest: Way
) -> Answer[Said]:
    warning = Notice(
        f"Cut to fit {limit:,} bytes: {words}; {rest.words}", code="TRUNCATED", severity="warning"
    )
    return msgspec.structs.replace(
        answer, page=page, truncated=True, warnings=(*answer.warnings, warning)
    )


def _with_less(answer: Answer[Said], limit: int, share: int) -> Answer[Said]:
    """An answer in which nothing but its largest part has more than a share of the room."""
    room = limit // share
    for name in ("message", "text"):
        words: str | None = getattr(answer, name)
        if words is not None and (shorter := shorten(words, room)) != words:
            said = f"the first {len(shorter):,} of {len(words):,} characters of its {name} are here"
            answer = msgspec.structs.replace(answer, **{name: shorter})
            answer = _say(answer, answer.page, limit, said, NO_WAY)
    answer = _with_fewer_warnings(answer, room)
    answer = _with_short_blocks(answer, limit, room)
    return _with_smaller_members(answer, limit, room)


def _with_fewer_warnings(answer: Answer[Said], room: int) -> Answer[Said]:
    notices = [notice for notice in answer.warnings if isinstance(notice, Notice)]
    lengths = accumulate(len(notice.message.encode()) + _NOTICE_MARKS for notice in notices)
    kept = sum(length <= room for length in lengths)
    if kept == len(notices):
        return answer
    more = Notice(f"There are {len(notices) - kept:,} more warnings", code="TRUNCATED")
    return msgspec.structs.replace(answer, warnings=(*notices[:kept], more))


def _with_short_blocks(answer: Answer[Said], limit: int, room: int) -> Answer[Said]:
    """Text that is sent along as a resource counts as well."""
    blocks: list[Block | str] = []
    for block in answer.blocks:
        match block:
            case str() if (shorter := shorten(block, room)) != block:
                blocks.append(shorter)
                said = f"the first {len(shorter):,} characters of a text are here"
                answer = _say(answer, answer.page, limit, said, NO_WAY)
            case Embedded(uri, str(content)) if (shorter := shorten(content, room)) != content:
                blocks.append(msgspec.structs.replace(block, content=shorter))
                said = f"the first {len(shorter):,} characters of {uri[:200]} are here"
                answer = _say(answer, answer.page, limit, said, NO_WAY)
            case _:
                blocks.append(block)
    return msgspec.structs.replace(answer, blocks=blocks) if blocks else answer


def _with_smaller_members(answer: Answer[Said], limit: int, room: int) -> Answer[Said]:
    """Of several large lists and texts, the largest is left to be cut with a way to its rest."""
    if isinstance(answer.data, str):
        return answer
    largest = nlargest(_MOST_CUT, _candidates(answer.data.json, ()))
    for size, path in largest[1:]:
        if size <= room or (parts := _at(answer.data, path)) is None:
            continue
        whole = Whole(Place(path), parts)
        kept = _most(whole, room)
        unit = "items" if whole.is_list else "characters"
        said = f"the first {kept:,} of {len(parts):,} {unit} of {'.'.join(path)[:200]} are here"
        answer = _say(_with_parts(answer, whole, parts[:kept]), answer.page, limit, said, NO_WAY)
    return answer


def shorten(words: str, limit: int) -> str:
    """As much of a text as has so many bytes."""
    if len(words) * 4 <= limit:
        return words
    return words.encode(errors="replace")[:limit].decode(errors="ignore")


def too_large(limit: int) -> Problem:
    return Problem.internal(
        f"The answer is larger than {limit:,} bytes and cannot be cut",
        code="TOO_LARGE",
        remediation=NO_WAY.words,
    )
