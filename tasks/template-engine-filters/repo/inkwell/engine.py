"""Renders templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from inkwell.filters import FILTERS
from inkwell.parser import parse
from inkwell.statements import Block


class Engine:
    """Prints templates, and remembers those that it has parsed.

    Args:
        filters: more filters, or others under the same names.
    """

    def __init__(self, filters: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self._filters = {**FILTERS, **(filters or {})}
        self._parsed: dict[str, Block] = {}

    def render(self, source: str, /, **variables: Any) -> str:
        """Print a template.

        Raises:
            TemplateError: it cannot be read or rendered.
        """
        if source not in self._parsed:
            self._parsed[source] = parse(source, self._filters)
        return "".join(self._parsed[source].render(variables))
