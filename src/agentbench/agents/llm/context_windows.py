"""How much fits into one request to a model, from the table `context_windows.toml`."""

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from agentbench.schema import Schema


class ContextWindow(Schema):
    """Tokens that fit into a request together with its answer, and those the answer may have."""

    window: int
    output: int

    @property
    def room(self) -> int:
        """Tokens that are left for the request."""
        return self.window - self.output


class _Models(ContextWindow):
    names: tuple[str, ...]


class _Table(Schema):
    default: ContextWindow
    models: tuple[_Models, ...]


def context_window(model: str) -> ContextWindow:
    """What is known of a model, or a cautious guess."""
    name = model.rpartition("/")[2].lower()
    table = _table()
    for row in table.models:
        if any(fnmatchcase(name, pattern) for pattern in row.names):
            return row
    return table.default


@cache
def _table() -> _Table:
    text = files(__package__).joinpath("context_windows.toml").read_text("utf-8")
    return _Table.model_validate(tomllib.loads(text))
