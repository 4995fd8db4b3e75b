"""Pure data: answers and their content, the two response formats, and what a server registers.

Read `answer`, `content`, `envelope` and `response` first, then `tool`, `prompt`, `resource` and
`completion`. The other modules serve these.
"""
