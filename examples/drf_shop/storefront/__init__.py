"""A small shop as a Django REST framework project, with an MCP endpoint beside its API."""
