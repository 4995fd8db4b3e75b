"""Serves over stdio and HTTP: runs operations, and owns sessions, threads and sockets."""
