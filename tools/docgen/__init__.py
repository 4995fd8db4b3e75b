"""Generates the parts of README and docs that quote the code or the benchmarks.

Read `pages` (which part is on which page), then the generators: `comparison`, `profiles`, `options`,
`clients`,
`character`.
"""
