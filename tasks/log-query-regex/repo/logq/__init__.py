"""Queries over logs of key=value pairs."""

from logq.budget import Budget, PatternTooExpensive
from logq.pattern import Pattern
from logq.query import Query, QueryError
from logq.records import parse_record
from logq.syntax import PatternError

__all__ = [
    "Budget",
    "Pattern",
    "PatternError",
    "PatternTooExpensive",
    "Query",
    "QueryError",
    "parse_record",
]
