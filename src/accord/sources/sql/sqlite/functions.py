"""Functions that SQLite lacks: regular expressions and statistics, for connections that read.

They follow PostgreSQL: null arguments give null or are skipped, `stddev` is that of a sample. A
statistic is exact until its last step: numbers are summed as integers with one common exponent. So
a window that moves on can subtract what it leaves, without an error that grows.

A pattern can take any time. Nothing in this process can stop it; the server kills the worker.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from math import isfinite, sqrt
from typing import Any, Final

import apsw

from accord.model.answer import FieldError, Problem

MAX_PATTERN: Final = 1_000
"""Maximum number of characters of a regular expression."""
_MAX_REPLACED: Final = 1_000_000  # characters of a text after regexp_replace
_MAX_MODES: Final = 16_000_000  # bytes of the different values of mode(), as they are counted
_VALUE_SIZE: Final = 160  # bytes of a value beside its text
_FLAGS: Final = {"i": re.I, "c": 0, "n": re.M, "m": re.M, "s": re.S, "x": re.X, "g": 0}
_REFERENCE: Final = re.compile(r"\\([0-9&\\])")
_SAFE: Final = apsw.SQLITE_INNOCUOUS | apsw.SQLITE_DETERMINISTIC


def add_functions(connection: apsw.Connection) -> None:
    """Add all functions to a connection."""
    for name, (counts, function) in _REGEXPS.items():
        for count in counts:
            connection.create_scalar_function(name, function, count, flags=_SAFE)
    for name, make in _STATISTICS.items():
        connection.create_window_function(name, make, 1 + (name in _OF_PAIRS), flags=_SAFE)


# Regular expressions


def _fault(function: str, fault: str) -> Problem:
    message = f"{function}() {fault}"
    return Problem.validation(message, fields=[FieldError("query", message)])


def _text(function: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | memoryview):
        raise _fault(function, "takes text, not a blob")
    return str(value)


@lru_cache(64)
def _compiled(function: str, pattern: str, flags: str) -> re.Pattern[str]:
    if len(pattern) > MAX_PATTERN:
        raise _fault(function, f"takes a pattern of at most {MAX_PATTERN:,} characters")
    if unknown := set(flags) - _FLAGS.keys():
        raise _fault(function, f"has no flag {min(unknown)!r}; there are c, g, i, m, n, s and x")
    found = re.RegexFlag(0)
    for flag in flags:
        found |= _FLAGS[flag]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, found)
    except (re.error, RecursionError, OverflowError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _fault(function, f"cannot use the pattern: {reason}") from error


def _regexp(pattern: Any, text: Any) -> bool | None:
    """`text REGEXP pattern`."""
    return _regexp_like(text, pattern, function="regexp")


def _regexp_like(
    text: Any, pattern: Any, flags: Any = "", *, function: str = "regexp_like"
) -> bool | None:
    if text is None or pattern is None or flags is None:
        return None
    found = _compiled(function, _text(function, pattern), _text(function, flags))
    return found.search(_text(function, text)) is not None


def _regexp_substr(text: Any, pattern: Any, flags: Any = "") -> str | None:
    if text is None or pattern is None or flags is None:
        return None
    name = "regexp_substr"
    found = _compiled(name, _text(name, pattern), _text(name, flags)).search(_text(name, text))
    return None if found is None else found[0]


def _regexp_count(text: Any, pattern: Any, flags: Any = "") -> int | None:
    if text is None or pattern is None or flags is None:
        return None
    name = "regexp_count"
    compiled = _compiled(name, _text(name, pattern), _text(name, flags))
    return sum(1 for _ in compiled.finditer(_text(name, text)))


def _regexp_replace(text: Any, pattern: Any, replacement: Any, flags: Any = "") -> str | None:
    """Replace the first match, or all with the flag g; `\\1` and `\\&` are what it matched."""
    if text is None or pattern is None or replacement is None or flags is None:
        return None
    name = "regexp_replace"
    text, flags, replacement = (_text(name, each) for each in (text, flags, replacement))
    compiled = _compiled(name, _text(name, pattern), flags)
    parts: list[str] = []
    size, end = len(text), 0
    for match in compiled.finditer(text):
        new = _REFERENCE.sub(partial(_referenced, match), replacement)
        parts += [text[end : match.start()], new]
        end = match.end()
        size += len(new)
        if size > _MAX_REPLACED:
            raise _fault(name, f"would return more than {_MAX_REPLACED:,} characters")
        if "g" not in flags:
            break
    return "".join([*parts, text[end:]])


def _referenced(match: re.Match[str], reference: re.Match[str]) -> str:
    key = reference[1]
    if key == "\\":
        return key
    try:
        return match[0 if key == "&" else int(key)] or ""
    except IndexError as error:
        raise _fault("regexp_replace", f"has no group {key} in its pattern") from error


_REGEXPS: Final[dict[str, tuple[tuple[int, ...], Callable[..., Any]]]] = {
    "regexp": ((2,), _regexp),
    "regexp_like": ((2, 3), _regexp_like),
    "regexp_substr": ((2, 3), _regexp_substr),
    "regexp_count": ((2, 3), _regexp_count),
    "regexp_replace": ((3, 4), _regexp_replace),
}


# Statistics


class _Moments:
    """Count, sums and sums of products of numbers or pairs, as integers times 2**-exponent."""

    def __init__(self, function: str, result: Callable[["_Moments"], float | None]) -> None:
        self._function = function
        self._result = result
        self._exponent = 0
        self._infinite = 0
        self.count = 0
        self.sum_x = self.sum_y = 0
        self.xx = self.xy = self.yy = 0

    def step(self, y: Any, x: Any = 0) -> None:
        """Add a number, or a pair with the dependent one first, as in PostgreSQL."""
        self._change(1, y, x)

    def inverse(self, y: Any, x: Any = 0) -> None:
        """Remove what was added."""
        self._change(-1, y, x)

    def _change(self, sign: int, y: Any, x: Any) -> None:
        if y is None or x is None:
            return
        y, x = self._number(y), self._number(x)
        self.count += sign
        if not (isfinite(y) and isfinite(x)):
            self._infinite += sign
            return
        y, x = self._scaled(y, x)
        self.sum_y += sign * y
        self.sum_x += sign * x
        self.yy += sign * y * y
        self.xx += sign * x * x
        self.xy += sign * x * y

    def _number(self, value: Any) -> int | float:
        """Return a number; text that is one counts, as in SQLite's own percentile()."""
        if isinstance(value, int | float):
            return value
        if isinstance(value, str):
            try:
                return float(value)
            except ValueError:
                pass
        raise _fault(self._function, "takes numbers; input is not numeric")

    def _scaled(self, y: float, x: float) -> tuple[int, int]:
        """Return two numbers as integers; what is there already gets their exponent."""
        (y, y_divisor), (x, x_divisor) = y.as_integer_ratio(), x.as_integer_ratio()
        exponent = max(y_divisor, x_divisor).bit_length() - 1
        if exponent > self._exponent:
            more = exponent - self._exponent
            self._exponent = exponent
            self.sum_x <<= more
            self.sum_y <<= more
            self.xx <<= 2 * more
            self.xy <<= 2 * more
            self.yy <<= 2 * more
        one = 1 << self._exponent
        return y * (one // y_divisor), x * (one // x_divisor)

    def value(self) -> float | None:
        """Return the statistic of what is there now; None for SQL's null."""
        if self._infinite:
            return None  # NaN in PostgreSQL, which SQLite does not have
        return self._result(self)

    final = value

    def per_count(self, product: int, one: int, other: int, *, less: int) -> float | None:
        """Return the sum of products of the distances from the mean, divided by count - less."""
        divisor = self.count * (self.count - less)
        if divisor <= 0:
            return None
        moment = self.count * product - one * other
        return _ratio(moment, divisor << 2 * self._exponent)

    def ratio(self, numerator: int, denominator: int) -> float | None:
        """Return a quotient whose exponents cancel each other; None if it is undefined."""
        return _ratio(numerator, denominator) if denominator else None

    @property
    def distance_xx(self) -> int:
        """Sum of the squared distances of x from its mean, times the count."""
        return self.count * self.xx - self.sum_x**2

    @property
    def distance_yy(self) -> int:
        """Sum of the squared distances of y from its mean, times the count."""
        return self.count * self.yy - self.sum_y**2

    @property
    def distance_xy(self) -> int:
        """Sum of the products of both distances, times the count."""
        return self.count * self.xy - self.sum_x * self.sum_y


def _ratio(numerator: int, denominator: int) -> float:
    """Return a quotient of integers, correctly rounded."""
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")


def _variance(less: int, moments: _Moments) -> float | None:
    return moments.per_count(moments.yy, moments.sum_y, moments.sum_y, less=less)


def _deviation(less: int, moments: _Moments) -> float | None:
    variance = _variance(less, moments)
    return None if variance is None else sqrt(variance)


def _covariance(less: int, moments: _Moments) -> float | None:
    return moments.per_count(moments.xy, moments.sum_x, moments.sum_y, less=less)


def _correlation(moments: _Moments) -> float | None:
    squares = moments.distance_xx * moments.distance_yy
    if not squares:
        return None
    sign = 1 if moments.distance_xy >= 0 else -1
    return sign * min(sqrt(_ratio(moments.distance_xy**2, squares)), 1.0)


def _slope(moments: _Moments) -> float | None:
    return moments.ratio(moments.distance_xy, moments.distance_xx)


def _intercept(moments: _Moments) -> float | None:
    xx = moments.distance_xx
    numerator = moments.sum_y * xx - moments.sum_x * moments.distance_xy
    exponent = moments._exponent
    return moments.ratio(numerator, (moments.count * xx) << exponent) if xx else None


def _determination(moments: _Moments) -> float | None:
    if not moments.distance_xx:
        return None
    if not moments.distance_yy:
        return 1.0
    return moments.ratio(moments.distance_xy**2, moments.distance_xx * moments.distance_yy)


class _Mode:
    """The most frequent value; of several, the first in SQLite's order."""

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()
        self._size = 0

    def step(self, value: Any) -> None:
        """Add a value."""
        if value is None:
            return
        if value not in self._counts:
            self._size += _size(value)
            if self._size > _MAX_MODES:
                raise _fault("mode", f"takes different values of at most {_MAX_MODES:,} bytes")
        self._counts[value] += 1

    def inverse(self, value: Any) -> None:
        """Remove a value that was added."""
        if value is None:
            return
        self._counts[value] -= 1
        if not self._counts[value]:
            del self._counts[value]
            self._size -= _size(value)

    def value(self) -> Any:
        """Return the mode of the values; None without any."""
        if not self._counts:
            return None
        most = max(self._counts.values())
        return min((each for each, count in self._counts.items() if count == most), key=_place)

    final = value


def _size(value: Any) -> int:
    """Return about how many bytes a value takes, the same for equal values."""
    match value:
        case str():
            return _VALUE_SIZE + len(value) * (1 if value.isascii() else 4)
        case bytes():
            return _VALUE_SIZE + len(value)
    return _VALUE_SIZE


def _place(value: Any) -> tuple[int, Any]:
    """Return the place of a value in SQLite's order: numbers, texts, blobs."""
    if isinstance(value, str):
        return 1, value.encode(errors="surrogatepass")
    return (2, bytes(value)) if isinstance(value, bytes | memoryview) else (0, value)


def _moments(name: str, result: Callable[[_Moments], float | None]) -> Callable[[], _Moments]:
    return lambda: _Moments(name, result)


_RESULTS: Final[dict[str, Callable[[_Moments], float | None]]] = {
    "stddev": partial(_deviation, 1),
    "stddev_samp": partial(_deviation, 1),
    "stddev_pop": partial(_deviation, 0),
    "variance": partial(_variance, 1),
    "var_samp": partial(_variance, 1),
    "var_pop": partial(_variance, 0),
    "covar_samp": partial(_covariance, 1),
    "covar_pop": partial(_covariance, 0),
    "corr": _correlation,
    "regr_slope": _slope,
    "regr_intercept": _intercept,
    "regr_r2": _determination,
}
_OF_PAIRS: Final = frozenset("covar_samp covar_pop corr regr_slope regr_intercept regr_r2".split())
_STATISTICS: Final[dict[str, Callable[[], Any]]] = {
    **{name: _moments(name, result) for name, result in _RESULTS.items()},
    "mode": _Mode,
}
FUNCTION_NAMES: Final = frozenset([*_REGEXPS, *_STATISTICS])
"""The names of all functions, for the list of those that a query may use."""
