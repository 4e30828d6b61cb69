"""A pool of connections, or of anything else that is dear to open."""

from leasepool.errors import PoolClosed, PoolError, PoolTimeout
from leasepool.hooks import Hooks
from leasepool.pool import Pool
from leasepool.stats import Stats

__all__ = ["Hooks", "Pool", "PoolClosed", "PoolError", "PoolTimeout", "Stats"]
