"""Benchmarks of Accord and other MCP servers over stdio and HTTP: `python -m bench`.

Read `contenders` (the servers), `trial` and `http_trial` (one measurement), `rounds` (all of them),
then `report` (the tables). The other modules measure parts of Accord.
"""
