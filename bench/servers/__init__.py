"""The tools `add`, `add_sync` and `rows` on each server that is compared."""
