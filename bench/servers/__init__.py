"""The same three tools, `add`, `add_sync` and `rows`, once for each contender."""
