"""Adapters for agent frameworks, one module each; and `arrow`, for engines of data.

A module imports its framework when it is used; `arrow` imports pyarrow at once. `columns` are the
columns of readings.
"""
