"""Phrases by which a text reports an outcome, as patterns: completion, and that nothing was found.

All are matched against text in small letters, which takes `re` a fraction of the time that it needs
to ignore case. A blank in `any_of` is any white space.
"""

import re
from typing import Final

from accord.reader.lexicon import patterns
from accord.reader.patterns import any_of

CROSSES: Final = "❌⛔🚫✗✖"
"""Marks of a line that reports a failure."""

# Completion.
COMPLETION: Final = any_of(*patterns("phrases.completion"))
NOTHING_DONE: Final = any_of(*patterns("phrases.nothing-done"))
"""`Nothing has been exported so far`."""
TICKED: Final = re.compile(r"[^\w\s]{0,12}[✅✓✔☑🎉]\W{1,4}(?:\S+ ){0,4}[a-z]{2,}ed\b")
MARKS_BEFORE: Final = re.compile(r"[\W_]{0,12}")
ONLY_COMPLETION: Final = any_of(*patterns("phrases.only-completion"))
PLAIN_COMPLETION: Final = any_of(*patterns("phrases.plain-completion"))
"""What can only mean that something was done, whatever the tool."""
OPENED: Final = any_of(*patterns("phrases.opened"))
SAVED: Final = any_of(*patterns("phrases.saved"))
ROWS_CHANGED: Final = any_of(*patterns("phrases.rows-changed"))
RETRIEVED: Final = any_of(*patterns("phrases.retrieved"))
"""What a tool reports that gave something and changed nothing."""
PARTICIPLE: Final = re.compile(
    r"(?!failed|denied|reject|refus|expir|limit|unexpect|unsupport|undefin|block|abort|malform"
    r"|requir|unauthori|unrecogni|interrupt|need|exceed|encounter|receiv)[a-z]+ed\b"
)
STILL_DONE: Final = any_of(*patterns("phrases.still-done"))
"""A sentence with an action that was done, whatever else was not."""
NOT_AS_EXPECTED: Final = re.compile(
    r"expected [^.\n]{1,60} but (?:found|got|received)\b"
    r"|(?:transaction|execution|call|tx) reverted\b"
)
"""What was done is the failure."""

# Failure of everything, or of what was asked for.
ALL_FAILED: Final = any_of(*patterns("phrases.all-failed"))
EACH_FAILED: Final = re.compile(r"[^\s:]{0,200}[./][^\s:]{0,200}: (?:error|failed)\b")
ONLY_MARKS: Final = re.compile(r"[\W_]*")
REJECTED: Final = any_of(*patterns("phrases.rejected"))

# Nothing found.
NOTHING_FOUND: Final = any_of(*patterns("phrases.nothing-found"))
NOTHING_FOUND_PLAINLY: Final = re.compile(
    r"no (?!such\b)(?:[a-z]+ )?[a-z]+s found(?: (?:for|matching|in|with) [^.\n]{1,100})?[.!]?$"
    r"|no (?:[\w.*]+,? ){1,6}(?:files|results|matches|items) found in \S+$"
    r"|no (?:[a-z]+ )?[a-z]+s (?:created |added |defined |saved |recorded )?yet[.!]?$"
)
"""The most frequent of these, which take one match."""
NOTHING_FOUND_IN_CHINESE: Final = re.compile(
    r"\W{0,4}(?:没有|沒有|暂无|暫無|未|找不到)[^\n]{1,40}\s*$"
    r"|(?:#[^\n]{0,60}\n\s*)?[^\n\d]{0,60}(?:没有|沒有)(?:任何|找到)[^\n]{0,60}\s*$"
)
LACKING: Final = any_of(*patterns("phrases.lacking"))
"""A failure for want of something, rather than nothing found."""
NOTHING_LISTED: Final = any_of(*patterns("phrases.nothing-listed"))
"""Nothing found, from a tool that lists."""
NOTHING_LISTED_AT_ALL: Final = any_of(*patterns("phrases.nothing-listed-at-all"))
NO_ITEMS: Final = any_of(*patterns("phrases.no-items"))
NO_VALUES: Final = re.compile(
    r"[^:\n]{1,80}:[*_]{0,2}\s+\W?(?:none|empty(?: array| list)?|nothing|no \w+)\W{0,2}$"
)
"""`Open tabs: none`."""
COUNT_OF_ZERO: Final = re.compile(
    r".{1,160}[(\[ ]0 (?:occurrences|match(?:es)?|results?|usages|references|hits)[\])]?[.!]?$"
)
"""A heading with nothing below it."""
ITEM_LINE: Final = re.compile(
    r"\n[^\S\n]*+(?:[-*•]|\d|\S[^\s./]*+[./]\S++$|.*:[^\S\n]*+$|.*[1-9])", re.M
)
"""A line that is an item, or has items below it."""
INSTEAD: Final = any_of(*patterns("phrases.instead"))
"""Other items are given for those that were not found."""
MAY_BE_NOTHING: Final = re.compile(r"(?:\b|_)(?:no|0|zero|none|nothing|empty|any|end of)(?:\b|_)")
SOMETHING_FOUND: Final = re.compile(
    r"(?:found|showing|retrieved|returned|listing) (?:the )?[1-9]\d*\b|[^:]{1,80} \([1-9]\d*\)?:"
)
ADVICE: Final = re.compile(r"(?:try|please|use|you can|consider|check|tip|hint)\b[^:\d]*")
MARKER: Final = re.compile(r"_{0,2}[A-Z]{1,20}(?:_[A-Z]{1,20}){1,5}_{0,2}")
"""A sentence for programs: `__NO_COLLECTIONS_FOUND__`."""
POLITE: Final = re.compile(r"(?:(?:sorry|unfortunately),?|(?:search )?results?:)\s+", re.I)
LABEL: Final = re.compile(r"[A-Z][\w ]{0,30}: ")
MARKS_OPENING: Final = re.compile(r"(?:_|[^\w\"'`]){0,12}\u2139?[^\w\"'`]{0,12}")

# Nothing wrong, nothing to do, or one thing missing.
NO_PROBLEMS: Final = any_of(*patterns("phrases.no-problems"))
MISSING: Final = any_of(*patterns("phrases.missing"))
MISSING_STATE: Final = any_of(*patterns("phrases.missing-state"))
NOTHING_TO_DO: Final = any_of(*patterns("phrases.nothing-to-do"))
NONE_OF_ALL: Final = any_of(*patterns("phrases.none-of-all"))
