"""Truncates answers to a size limit, between items or characters, with a warning."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from itertools import accumulate
from typing import Any, Final, NamedTuple

import msgspec

from accord.model.answer import Answer, Notice, Page, Problem, Value
from accord.model.content import Block, Embedded

DEFAULT_MAX_BYTES: Final = 256 * 1024
TRUNCATED: Final = "TRUNCATED"
"""The code of the warning of a cut answer."""
_NOTICE_MARKS: Final = 64  # bytes of a warning besides its message
_MAX_CUT: Final = 8  # lists and texts of one answer that are cut
_MAX_NESTING: Final = 16  # nested objects that are searched

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_string = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


class Position(msgspec.Struct, frozen=True):
    """A position in an answer's data: in the list or text at `path`, after `skip` parts."""

    path: tuple[str, ...] = ()
    skip: int = 0


class Continuation(NamedTuple):
    """A cursor to the remaining parts, and a hint how to use it."""

    cursor: str | None
    hint: str


ContinueAt = Callable[[Position], Continuation]

NO_CONTINUATION: Final = Continuation(None, "ask for less at a time")


class Splittable(NamedTuple):
    """The part of an answer that is cut: the items of a list, or the characters of a text."""

    position: Position
    parts: Sequence[Any]

    @property
    def is_list(self) -> bool:
        """True if the parts are items of a list."""
        return not isinstance(self.parts, str)


def resume(answer: Answer[Value], position: Position, *, is_whole: bool = True) -> Answer[Value]:
    """Return the part of an answer after a position.

    `is_whole` if the tool returned the complete list, not a page of it.
    """
    parts = _at(answer.data, position.path)
    if parts is None:
        raise Problem.conflict("The answer has changed since the cursor was made; start again")
    whole = Splittable(position, parts)
    remaining = _with_parts(answer, whole, parts[position.skip :])
    page = answer.page
    if page is None and whole.is_list and is_whole:
        page = Page(offset=position.skip, total=len(parts), has_more=False)
    elif page is None:
        page = Page(has_more=False)
    elif page.offset is not None:
        page = msgspec.structs.replace(page, offset=page.offset + position.skip)
    return msgspec.structs.replace(remaining, page=page, page_in_data=False)


class Cutter(msgspec.Struct, frozen=True):
    """Truncates one answer, in its largest part or in the part that was cut before."""

    limit: int
    fits: Callable[[Answer[Value]], bool]
    continuation: ContinueAt
    begun: Position | None = None
    is_whole: bool = True
    at_lines: bool = False
    """True to cut a text after a line, if one ends in its second half."""

    def cut(self, answer: Answer[Value]) -> Answer[Value]:
        """Return the answer cut to the limit, with a warning, a page and a continuation.

        Raise a Problem if it cannot be cut.
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

    def _cut_data(self, answer: Answer[Value]) -> Answer[Value] | None:
        whole = _largest(answer.data) if self.begun is None else _whole(answer, self.begun)
        if whole is None:
            return None
        for continue_at in (self.continuation, _no_continuation):  # a cursor may itself be too long
            if self.fits(self._part(answer, whole, 0, continue_at)):
                return self._most_of(answer, whole, continue_at)
        return None

    def _most_of(
        self, answer: Answer[Value], whole: Splittable, continue_at: ContinueAt
    ) -> Answer[Value] | None:
        def part(kept: int) -> Answer[Value]:
            return self._part(answer, whole, kept, continue_at)

        most = _most(whole, self.limit)
        kept = bisect_left(range(most + 1), True, key=lambda kept: not self.fits(part(kept))) - 1
        if kept > 0:
            return part(self._line_end(whole, kept))
        if whole.is_list and whole.parts:
            without = self._without_first(answer, whole, continue_at)
            return without if self.fits(without) else None
        return None

    def _line_end(self, whole: Splittable, kept: int) -> int:
        if whole.is_list or not self.at_lines or kept == len(whole.parts):
            return kept
        end = str(whole.parts).rfind("\n", kept // 2, kept) + 1
        return end or kept

    def _part(
        self,
        answer: Answer[Value],
        whole: Splittable,
        kept: int,
        continue_at: ContinueAt,
    ) -> Answer[Value]:
        first = whole.position.skip
        count = first + len(whole.parts)
        continuation = continue_at(Position(whole.position.path, first + kept))
        unit = "items" if whole.is_list else "characters"
        message = f"{unit} {first + 1:,} to {first + kept:,} of {count:,} are here"
        part = _with_parts(answer, whole, whole.parts[:kept])
        return _with_warning(
            part, self._page(answer, whole, kept, continuation), self.limit, message, continuation
        )

    def _without_first(
        self, answer: Answer[Value], whole: Splittable, continue_at: ContinueAt
    ) -> Answer[Value]:
        """Skip an item that is too large by itself."""
        first = whole.position.skip
        continuation = continue_at(Position(whole.position.path, first + 1))
        message = (
            f"item {first + 1:,} of {first + len(whole.parts):,} alone is larger, and left out"
        )
        empty = _with_parts(answer, whole, whole.parts[:0])
        return _with_warning(
            empty, self._page(answer, whole, 1, continuation), self.limit, message, continuation
        )

    def _page(
        self, answer: Answer[Value], whole: Splittable, passed: int, continuation: Continuation
    ) -> Page | None:
        """Return the page of the cut answer; the tool's own cursor would skip what was cut."""
        if not whole.is_list:
            return (
                answer.page
                if continuation.cursor is None
                else Page(has_more=True, cursor=continuation.cursor)
            )
        page = answer.page
        if page is None:
            total = whole.position.skip + len(whole.parts) if self.is_whole else None
            return Page(total=total, has_more=True, cursor=continuation.cursor)
        is_first = not whole.position.skip  # else the offset is not the tool's
        counts = page.next_offset is not None or (page.offset is not None and is_first)
        return msgspec.structs.replace(
            page,
            has_more=True,
            cursor=continuation.cursor,
            after=None,
            next_offset=(page.offset or 0) + passed if counts else None,
        )


def _no_continuation(position: Position) -> Continuation:
    return NO_CONTINUATION


def _at(data: Value, path: Sequence[str]) -> Sequence[Any] | None:
    """Return the items or the text at a path, or None."""
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


def _whole(answer: Answer[Value], begun: Position) -> Splittable:
    """Return the part that was cut before; `resume` has removed the parts already sent."""
    parts = _at(answer.data, begun.path)
    return Splittable(begun, () if parts is None else parts)


def _largest(data: Value) -> Splittable | None:
    """Return the largest list or text of an answer, at any level, or the list that it names."""
    if isinstance(data, str):
        return Splittable(Position(), data)
    path = data.items_at
    if path is None:
        _, path = max(_candidates(data.json, ()), default=(0, None))
    parts = None if path is None else _at(data, path)
    return None if path is None or parts is None else Splittable(Position(path), parts)


def _candidates(json: bytes, path: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    if json[:1] in (b"[", b'"'):
        yield len(json), path
    elif json[:1] == b"{" and len(path) < _MAX_NESTING:
        for name, member in _members(json).items():
            yield from _candidates(bytes(member), (*path, name))


def _most(whole: Splittable, limit: int) -> int:
    """Return an upper bound for the number of parts that fit, from the length of their JSON."""
    if not whole.is_list:
        return min(len(whole.parts), limit)
    lengths = accumulate(len(bytes(item)) + 1 for item in whole.parts)
    return next((kept for kept, length in enumerate(lengths) if length > limit), len(whole.parts))


def _with_parts(answer: Answer[Value], whole: Splittable, parts: Sequence[Any]) -> Answer[Value]:
    if isinstance(answer.data, str):
        return msgspec.structs.replace(answer, data=str(parts))
    json = _put(answer.data.json, whole.position.path, _encode(parts))
    return msgspec.structs.replace(answer, data=msgspec.structs.replace(answer.data, json=json))


def _put(json: bytes, path: Sequence[str], value: bytes) -> bytes:
    if not path:
        return value
    members = _members(json)
    members[path[0]] = msgspec.Raw(_put(bytes(members[path[0]]), path[1:], value))
    return _encode(members)


def _with_warning(
    answer: Answer[Value], page: Page | None, limit: int, message: str, continuation: Continuation
) -> Answer[Value]:
    warning = Notice(
        f"Cut to fit {limit:,} bytes: {message}; {continuation.hint}",
        code=TRUNCATED,
        severity="warning",
    )
    return msgspec.structs.replace(
        answer,
        page=page,
        page_in_data=answer.page_in_data and page is answer.page,
        truncated=True,
        warnings=(*answer.warnings, warning),
    )


def _with_less(answer: Answer[Value], limit: int, share: int) -> Answer[Value]:
    """Return an answer in which no other part exceeds `limit / share` bytes."""
    room = limit // share
    for name in ("message", "text"):
        text: str | None = getattr(answer, name)
        if text is not None and (shorter := shorten(text, room)) != text:
            message = (
                f"the first {len(shorter):,} of {len(text):,} characters of its {name} are here"
            )
            answer = msgspec.structs.replace(answer, **{name: shorter})
            answer = _with_warning(answer, answer.page, limit, message, NO_CONTINUATION)
    answer = _with_fewer_warnings(answer, room)
    answer = _with_short_blocks(answer, limit, room)
    return _with_smaller_members(answer, limit, room)


def _with_fewer_warnings(answer: Answer[Value], room: int) -> Answer[Value]:
    notices = [notice for notice in answer.warnings if isinstance(notice, Notice)]
    lengths = accumulate(len(notice.message.encode()) + _NOTICE_MARKS for notice in notices)
    kept = sum(length <= room for length in lengths)
    if kept == len(notices):
        return answer
    more = Notice(f"There are {len(notices) - kept:,} more warnings", code=TRUNCATED)
    return msgspec.structs.replace(answer, warnings=(*notices[:kept], more))


def _with_short_blocks(answer: Answer[Value], limit: int, room: int) -> Answer[Value]:
    """Shorten texts and embedded resources of the answer."""
    blocks: list[Block | str] = []
    for block in answer.blocks:
        match block:
            case str() if (shorter := shorten(block, room)) != block:
                blocks.append(shorter)
                message = f"the first {len(shorter):,} characters of a text are here"
                answer = _with_warning(answer, answer.page, limit, message, NO_CONTINUATION)
            case Embedded(uri, str(content)) if (shorter := shorten(content, room)) != content:
                blocks.append(msgspec.structs.replace(block, content=shorter))
                message = f"the first {len(shorter):,} characters of {uri[:200]} are here"
                answer = _with_warning(answer, answer.page, limit, message, NO_CONTINUATION)
            case _:
                blocks.append(block)
    return msgspec.structs.replace(answer, blocks=blocks) if blocks else answer


def _with_smaller_members(answer: Answer[Value], limit: int, room: int) -> Answer[Value]:
    """Cut all large lists and texts but the largest, which is cut with a continuation.

    If the answer names the list to cut, its other parts are needed to read that one.
    """
    if isinstance(answer.data, str) or answer.data.items_at is not None:
        return answer
    largest = nlargest(_MAX_CUT, _candidates(answer.data.json, ()))
    for size, path in largest[1:]:
        if size <= room or (parts := _at(answer.data, path)) is None:
            continue
        whole = Splittable(Position(path), parts)
        kept = _most(whole, room)
        unit = "items" if whole.is_list else "characters"
        message = f"the first {kept:,} of {len(parts):,} {unit} of {'.'.join(path)[:200]} are here"
        answer = _with_warning(
            _with_parts(answer, whole, parts[:kept]), answer.page, limit, message, NO_CONTINUATION
        )
    return answer


def shorten(text: str, limit: int) -> str:
    """Return the beginning of a text, at most `limit` bytes."""
    if len(text) * 4 <= limit:
        return text
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def too_large(limit: int) -> Problem:
    """Return the Problem of an answer that cannot be cut to the limit."""
    return Problem.internal(
        f"The answer is larger than {limit:,} bytes and cannot be cut",
        code="TOO_LARGE",
        remediation=NO_CONTINUATION.hint,
    )
