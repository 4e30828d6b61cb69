"""How many files this process may have open: as many as the system lets it."""

from contextlib import suppress


def allow_many_open_files() -> None:
    """Raise the soft limit to the hard one: each attempt holds pipes, sockets and logs open.

    The soft limit is 1,024 nearly everywhere, for programs that use `select`; ours do not.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS calls its hard limit infinite and refuses that
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
