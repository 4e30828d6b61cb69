"""A small template engine."""

from inkwell.engine import Engine
from inkwell.errors import TemplateError
from inkwell.markup import Safe, escape

__all__ = ["Engine", "Safe", "TemplateError", "escape"]
