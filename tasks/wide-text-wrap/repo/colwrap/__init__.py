"""Wrap, cut and align text by the columns it takes on a terminal."""

from colwrap.columns import char_width, text_width
from colwrap.tables import pad, table
from colwrap.wrapping import fill, truncate, wrap

__all__ = ["char_width", "fill", "pad", "table", "text_width", "truncate", "wrap"]
