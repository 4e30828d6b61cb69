"""Rate limits by token bucket, in whole numbers."""

from tollgate.bucket import AllOf, TokenBucket
from tollgate.limiter import Limiter, Throttled, limited
from tollgate.rate import Rate

__all__ = ["AllOf", "Limiter", "Rate", "Throttled", "TokenBucket", "limited"]
