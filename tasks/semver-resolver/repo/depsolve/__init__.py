"""Semantic versions, ranges over them, and a resolver that picks one of each package."""

from depsolve.index import Index
from depsolve.ranges import InvalidRange, Range
from depsolve.resolver import Conflict, resolve
from depsolve.version import InvalidVersion, Version

__all__ = ["Conflict", "Index", "InvalidRange", "InvalidVersion", "Range", "Version", "resolve"]
