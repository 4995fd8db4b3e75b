"""Data without I/O: answers, the two response formats, what a server registers, `Context`.

Read `answer`, `content`, `envelope` and `response`, then `tool`, `prompt`, `resource` and
`completion`, then `context` and `questions` (on `forms`). The other modules serve these.
"""
