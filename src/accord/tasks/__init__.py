"""Calls that take long: where they are kept, and what clients do with them.

Read `store` (the protocol), then `memory`, `sqlite`, `redis` and `opening`, then `service`.
"""
