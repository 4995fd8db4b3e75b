"""The edges: they run calls, and own sessions, threads and sockets."""
