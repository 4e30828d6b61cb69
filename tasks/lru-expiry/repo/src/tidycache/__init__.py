"""A least-recently-used cache whose entries also grow old."""

from .cache import Cache
from .deadlines import Deadlines
from .memo import memoize
from .model import Cause, Entry, Stats

__all__ = ["Cache", "Cause", "Deadlines", "Entry", "Stats", "memoize"]
