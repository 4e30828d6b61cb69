"""Reads delimited text without being told how it is delimited."""

from tabread.dialect import DELIMITERS, Dialect
from tabread.reader import ReadError, records
from tabread.sniffer import SniffError, sniff
from tabread.table import Table, read

__all__ = [
    "DELIMITERS",
    "Dialect",
    "ReadError",
    "SniffError",
    "Table",
    "read",
    "records",
    "sniff",
]
