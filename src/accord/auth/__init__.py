"""Who is calling: bearer tokens verified for servers over HTTP, and signing in to others' servers.

`fetch.py` gets a document from another server, within limits.
"""
