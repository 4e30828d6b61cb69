"""What a caller may have to catch."""


class PoolError(Exception):
    """The pool has no connection to give."""


class PoolTimeout(PoolError):
    """None was given back in time."""


class PoolClosed(PoolError):
    """The pool is closed."""
