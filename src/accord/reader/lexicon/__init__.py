"""The words that replies and tool names use, as data: each word once, with one meaning.

`tools` has the verbs of tool names, `members` the names of members, `languages` the outcome words
of other languages in English. Rules ask the lexicon; no rule has a list of words of its own.
"""
