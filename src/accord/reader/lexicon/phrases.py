"""Phrases by which a text reports an outcome, as patterns: completion, and that nothing was found.

All are matched against text in small letters, which takes `re` a fraction of the time that it needs
to ignore case. A blank in `any_of` is any white space.
"""

import re
from typing import Final

from accord.reader.lexicon.outcomes import PARTICIPLES
from accord.reader.patterns import any_of

CROSSES: Final = "❌⛔🚫✗✖"
"""Marks of a line that reports a failure."""
_DONE: Final = "|".join(sorted(PARTICIPLES))
_COMPLETED: Final = "complete[d]?|successful(?:ly)?|succeeded|finished"

# Completion.
COMPLETION: Final = any_of(
    r"(?:successfully|success|done|ok(?:ay)?|finished)\b",
    rf"(?:{_DONE})\b",
    rf".*\b(?:successfully\b|(?:has|have|was|were) (?:been )?(?:{_DONE})\b)",
    rf"(?:(?!(?:not|never|no|cannot|nothing)\b)\S+ ){{1,4}}(?:{_DONE})\b",
    r"now (?:\w+ing|set|at|on|off)\b",
    r"(?:\S+ ){1,3}succeeded\b",
    rf"(?:(?!(?:not|never|no|if|when|until|is)\b)[\w'-]+ ){{1,3}}(?:{_COMPLETED})[.!]*$",
    r"\w+ing .{1,200}(?:\.{3}|…) (?:done|ok|success)\b",
)
NOTHING_DONE: Final = any_of(rf"(?:nothing|none|no \w+) .{{0,80}}\b(?:{_DONE})\b")
"""`Nothing has been exported so far`."""
TICKED: Final = re.compile(r"[^\w\s]{0,12}[✅✓✔☑🎉]\W{1,4}(?:\S+ ){0,4}[a-z]{2,}ed\b")
MARKS_BEFORE: Final = re.compile(r"[\W_]{0,12}")
ONLY_COMPLETION: Final = any_of(
    r"(?:done|ok(?:ay)?|success(?:ful(?:ly)?)?|completed|finished)[.!]*$",
    rf"successfully (?:{_DONE})\b[^\n]*$",
)
PLAIN_COMPLETION: Final = any_of(
    rf"[^\n]{{1,120}} (?:has|have|was|were) (?:been )?successfully (?:{_DONE})\b",
    rf"(?:the|your) [^\n.]{{1,80}} (?:has|have) been (?:{_DONE})\b[^\n]*[.!]$",
)
"""What can only mean that something was done, whatever the tool."""
OPENED: Final = any_of(
    r"(?:\S+ ){1,4}(?:opened|launched|started)[.!]",
    r"(?:\S+ ){1,8}opened in (?:the |your |a )?(?:\w+ )?(?:browser|editor|window|tab)\b",
)
SAVED: Final = any_of(
    r".*\b(?:saved|written|wrote|exported|downloaded)\b.{0,40}\b(?:to|as|in)\b",
    r"(?:(?:the )?(?:document|file|image|video|audio) )?successfully converted\b"
    r".{0,80}\.[a-z0-9]{2,5}$",
)
ROWS_CHANGED: Final = any_of(
    r"(?:query ok,? )?\d+ rows? (?:were |was )?(?:affected|inserted|updated|deleted)\b",
    r"(?:insert \d+|update|delete) \d+$",
)
RETRIEVED: Final = any_of(
    r".*\b(?:retrieved|fetched|found|listed|read|loaded|queried|returned|searched|analy[sz]ed"
    r"|calculated|computed|parsed|checked|validated|extracted|converted|processed)\b",
    rf"(?:[\w'-]+ ){{0,2}}(?:search|query|lookup|analysis|scan|check|validation|calculation|review"
    rf"|inspection|audit|test|tests|request) (?:{_COMPLETED})\b",
)
"""What a tool reports that gave something and changed nothing."""
PARTICIPLE: Final = re.compile(
    r"(?!failed|denied|reject|refus|expir|limit|unexpect|unsupport|undefin|block|abort|malform"
    r"|requir|unauthori|unrecogni|interrupt|need|exceed|encounter|receiv)[a-z]+ed\b"
)
STILL_DONE: Final = any_of(
    r"(?:(?!(?:not|cannot|be|is|are|no|never|failed|unable|invalid)\b)\S+ ){0,4}"
    rf"(?:{_DONE})\b",
    r".*\bsuccessfully\b",
    rf".*\b(?:has|have|was|were) (?:been )?(?:{_DONE})\b",
    rf".*[,;] (?:but )?(?:\S+ ){{0,3}}(?:{_DONE})\b",
)
"""A sentence with an action that was done, whatever else was not."""
NOT_AS_EXPECTED: Final = re.compile(r"expected [^.\n]{1,60} but (?:found|got|received)\b")

# Failure of everything, or of what was asked for.
ALL_FAILED: Final = any_of(
    r".*\b0\s*/\s*[1-9]\d*\b.{0,20}success",
    r".{0,60}\b0 of [1-9]\d*\b.*\b(?:errors?|failed|failures?|not found)\b",
    r"(?>.*?\bsuccess\w*\b[^\n]{0,40}?:\s*0\b).*\bfailed\b[^\n]{0,40}:\s*[1-9]",
)
EACH_FAILED: Final = re.compile(r"[^\s:]{0,200}[./][^\s:]{0,200}: (?:error|failed)\b")
ONLY_MARKS: Final = re.compile(r"[\W_]*")
REJECTED: Final = any_of(
    r"(?:[^\s:]+ ){0,5}(?:rejected|declined|refused|denied|blocked)"
    r"(?:[.:!]|$| (?:by|because|due)\b)"
)

# Nothing found.
_GIVEN: Final = "provided|specified|given|supplied|passed|entered"
NOT_GIVEN: Final = rf"(?:(?!found|in|for|the|matching)\w+ ){{1,4}}(?:{_GIVEN})\b"
NO_ACCESS: Final = (
    r"(?:\w+ ){0,2}(?:permissions?|access|credentials?|connection|api key|token|internet)\b"
)
NOT_READY: Final = (
    r"(?:\w+ ){0,2}\w*[^s\W] (?:is |was )?(?:currently )?"
    r"(?:selected|chosen|configured|connected|loaded|authenticated|initialized|logged in)\b"
)
"""After `no`: an argument, an authorization or a state that the call needs."""
_ITEMS: Final = r"(?:results?|match(?:es)?|data|entries|records|items|\w+[^s\W]s|\w+\(s\))"
NOTHING_FOUND: Final = any_of(
    rf"(?:currently,? )?(?:there (?:are|were|is) )?(?:currently )?no (?:[\w-]+ ){{0,4}}?{_ITEMS}\b"
    r"(?: (?:were|was|are|have been|could be|currently))?"
    r"(?: (?:found|match(?:ed|ing)?|available|returned|exist|yet|present|connected|configured"
    r"|active|open|running|installed|scheduled|recorded|detected|registered|stored|to \w+"
    r"|displayed|listed|loaded|defined|set))?"
    r"(?: (?:for|in|with|matching|that|on|at|from|within|under|by|of|to|between|during|after|before"
    r"|yet|about|near|containing|around|here|available|found)\b.*)?[.!]*$",
    r"(?:found|showing|returned|listing) (?:0(?!\W{0,3}(?:to\W)?[1-9])|no|zero)\b.*$",
    r"total:? 0\b.*$",
    r"total results:? 0\b.*$",
    r"rows: 0\s*(?:\([^()\n]*\))?$",
    r"0 (?:\w+ ){0,3}(?:found|results?|matches|rows|items|records|returned).*$",
    r"0 \w+s[.!]*$",
    r"nothing (?:was )?(?:found|matched|to show|here).*$",
    r"(?:reached )?(?:the )?end of (?:the )?(?:\w+ )?(?:items|results|list|data|history)\b.{0,20}$",
    r"(?:the |your )?(?:\w+ )?(?:search|query|directory|folder|list|result|table|queue|inbox|cart)"
    r"\b(?!.*\b(?:must|cannot|can't|should)\b).{0,60}\bempty\b.{0,40}$",
    r"(?:the |your )?(?:search|query)\b.{0,60}\b(?:returned no\b.*|no results)[.!]*$",
    r"\(?(?:empty|none|no results)\)?[.!]*$",
    r"empty (?:directory|folder|list|array|result|set|queue)\b.{0,80}$",
    r".{1,80}\b(?:does not|doesn't|do not|don't|did not|didn't) (?:have|contain|return|match"
    r"|include|produce|yield) any\b.{0,80}$",
    rf"[^.]{{1,80}}\b(?:has|have|contains?|had|returned|with) (?:no|zero|0)"
    rf" (?:\w+ ){{0,2}}{_ITEMS}\b.{{0,60}}$",
    r"(?:could not|couldn't|did not|didn't|unable to) find any\b.*$",
)
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
LACKING: Final = any_of(
    r"no (?:such|valid)\b",
    rf"no {NOT_READY}",
    rf"no {NO_ACCESS}",
    rf"no {NOT_GIVEN}",
)
"""A failure for want of something, rather than nothing found."""
NOTHING_LISTED: Final = any_of(
    r"(?:there (?:are|is|were) )?no (?!such|longer|need)[\w'\"-]+.{0,160}$",
    r"(?:the |your |this )?(?:[\w'\"-]+ ){1,4}(?:is|are|was|were) (?:currently )?empty[.!]*$",
)
"""Nothing found, from a tool that lists."""
NOTHING_LISTED_AT_ALL: Final = any_of(
    r"(?:none of|empty|nothing|0 \w+s?)\b[^:]{0,80}$",
    r"[^.:]{1,60}, but no (?:\w+ ){0,2}(?:results|matches|items) (?:were )?found\b.*$",
    r"you (?:are not|aren't) (?:a member|part) of any [^:.]{1,40}[.!]?$",
    r"(?:i|we|you|there)\b[^:.]{0,20}\b(?:no|zero|0|n't any|not any|aren't any|isn't any"
    r"|weren't any) [^:]{1,100}$",
)
NO_ITEMS: Final = any_of(r"no (?!more|other|further|additional)(?:[\w-]+ ){1,4}(?:were )?found\b")
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
INSTEAD: Final = any_of(
    r".*\b(?:showing|similar|instead|falling back|did you mean|closest|found [1-9]|but here)\b"
)
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
NO_PROBLEMS: Final = any_of(
    r"no (?:\w+ ){0,2}(?:errors?|issues?|problems?|warnings?|violations?|conflicts?)\b",
    r"no (?:\w+ ){0,2}vulnerabilit(?:y|ies)\b",
)
MISSING: Final = any_of(
    r"no (?:[\w'\"-]+ ){0,4}?(?P<noun>[\w-]+) (?:was |were |is |are |has been |could be )?"
    r"(?:currently )?(?:found|available|exists?|match\w*|set|selected|open|active|running|connected"
    r"|loaded|detected|started|configured|registered|extracted|returned|retrieved|with|for|named)\b"
)
MISSING_STATE: Final = any_of(
    r"no (?:currently )?(?:active|open|current|connected|selected|running) (?P<noun>[\w-]+)\b"
)
NOTHING_TO_DO: Final = any_of(
    r"no (?:\w+ ){0,3}(?:changes?|occurrences?|differences|output|updates?|further|more|need)\b",
    r"no (?:\w+ ){1,4}to \w+\b",
    r"nothing (?:to|was|has)\b",
)
NONE_OF_ALL: Final = any_of(
    r"no (?!active|open|current|connected|selected|running|valid)[\w' -]{1,60} found\b"
)
