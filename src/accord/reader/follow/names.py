"""What servers call the arguments and members that lead from page to page, squeezed."""

from typing import Final

CURSORS: Final = tuple(
    """cursor pagetoken nextcursor nextpagetoken nexttoken pagecursor continuationtoken
    continuation paginationtoken startingtoken token aftercursor after startcursor scrollid marker
    bookmark exclusivestartkey startkey""".split()
)
OFFSETS: Final = tuple("offset skip startat startindex start from startposition".split())
NUMBERS: Final = tuple("page pagenumber pagenum pageno pageindex currentpage".split())
LIMITS: Final = tuple(
    "limit perpage pagesize maxresults count first top pagelimit maxitems size".split()
)
BEFORE: Final = tuple("before beforeid beforemessageid maxid endingbefore olderthan".split())
AFTER: Final = tuple("after afterid aftermessageid sinceid startingafter minid newerthan".split())
OLDEST: Final = ("oldestmessageid", "oldestid", "oldest")
LINKS: Final = ("next", "nexturl", "nextlink", "nextpageurl", "nextpage", "odatanextlink", "href")
REST: Final = "rest."
"""How our own cursors to the rest of a cut answer begin."""
NEXT: Final = ("nextcursor", "nextpagetoken", "nexttoken", "endcursor")
FAMILIES: Final = (CURSORS, OFFSETS, NUMBERS, LIMITS, BEFORE, AFTER)
CONTAINERS: Final = ("query", "params", "pagination", "paging", "options")
