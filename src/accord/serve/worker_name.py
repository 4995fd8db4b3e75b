"""The name of this process among the workers of a server; empty if it is the only one."""

_name = ""


def set_worker_name(name: str) -> None:
    """Set the name, by which the other workers relay requests to this one."""
    global _name  # noqa: PLW0603 - a process has one
    _name = name


def worker_name() -> str:
    """Return the name."""
    return _name
