"""Limits of single processes, as far as we may set them."""

import resource


def at_most(limit: int, wanted: int) -> int:
    """The value to set a limit to: what is wanted, or our own hard limit where that is lower.

    Nobody but root may raise a hard limit, and a child whose limits are refused does not start.
    """
    _, hard = resource.getrlimit(limit)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
