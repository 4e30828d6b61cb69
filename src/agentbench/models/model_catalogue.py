"""The prices and the context windows of known models."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from pydantic import Field, ValidationError

from agentbench.core.files import describe_read_error, read_regular_file
from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError
from agentbench.models.interface import TokenCounts

_MILLION = 1_000_000
# The suffixes of models' names: a date, or `latest`.
_SUFFIX = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{4}|\d{3}|\d{2}-\d{4}|latest)\Z")


class TokenRates(Schema):
    """USD per million tokens. A missing rate equals that of input."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    cache_write_1h: float | None = Field(default=None, ge=0)


class ModelPrice(TokenRates):
    """A model's rates, and its rates for long inputs if they differ."""

    long_input_over: int | None = Field(default=None, gt=0)  # tokens of input
    long_input: TokenRates | None = None


class PriceList(Schema):
    """One provider's prices."""

    source: str  # where they are published
    date: date  # when they were read
    models: Mapping[str, ModelPrice]


class PriceFile(Schema):
    """A file of prices."""

    schema_version: int = Field(default=1, ge=1, le=1)
    lists: tuple[PriceList, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices by model; unknown models have none."""

    by_model: Mapping[str, ModelPrice]

    def cost_usd(self, model: str, tokens: TokenCounts) -> float | None:
        """The cost of a model's tokens; None if its price is unknown."""
        price = self.price_of(model)
        return None if price is None else _cost(price, tokens)

    def price_of(self, model: str) -> ModelPrice | None:
        """A model's price, by its name with or without its date."""
        name = model.lower()
        for named in (name, name.rpartition("/")[2]):
            undated = _SUFFIX.sub("", named)
            # Some routers write 4.5 for 4-5.
            for each in (named, undated, undated.replace(".", "-")):
                if each in self.by_model:
                    return self.by_model[each]
        return None


@cache
def known_prices() -> Prices:
    """The prices that agentbench ships."""
    return _prices(json.loads((files(__package__) / "prices.json").read_text("utf-8")))


def load_prices(path: Path) -> Prices:
    """The shipped prices, overridden by a file in the same format.

    Raises:
        InputError: the file does not exist or is invalid.
    """
    try:
        own = _prices(json.loads(read_regular_file(path).decode()))
    except (OSError, UnicodeDecodeError) as fault:
        raise InputError(f"{path}: cannot be read: {describe_read_error(fault)}") from fault
    except ValidationError as fault:
        faults = (describe_validation_error(each, PriceFile) for each in fault.errors())
        raise InputError(*(f"{path}: {each}" for each in faults)) from fault
    except (ValueError, RecursionError) as fault:
        raise InputError(f"{path}: expected JSON: {describe_read_error(fault)}") from fault
    return Prices(by_model=MappingProxyType({**known_prices().by_model, **own.by_model}))


def _prices(document: object) -> Prices:
    lists = PriceFile.model_validate(document).lists
    merged = {name.lower(): price for each in lists for name, price in each.models.items()}
    return Prices(by_model=MappingProxyType(merged))


def _cost(price: ModelPrice, tokens: TokenCounts) -> float:
    rates: TokenRates = price
    over = price.long_input_over
    if over is not None and price.long_input is not None and tokens.input > over:
        rates = price.long_input
    cached = rates.input if rates.cached_input is None else rates.cached_input
    write = rates.input if rates.cache_write is None else rates.cache_write
    write_1h = write if rates.cache_write_1h is None else rates.cache_write_1h
    fresh = max(tokens.input - tokens.cached - tokens.cache_written, 0)
    return (
        fresh * rates.input
        + tokens.cached * cached
        + (tokens.cache_written - tokens.cache_written_1h) * write
        + tokens.cache_written_1h * write_1h
        + tokens.output * rates.output
    ) / _MILLION


class ContextWindow(Schema):
    """The tokens of a request with its answer, and the most tokens of the answer."""

    window: int
    output: int

    @property
    def max_request_tokens(self) -> int:
        return self.window - self.output


class _ModelWindows(ContextWindow):
    names: tuple[str, ...]


class _WindowTable(Schema):
    default: ContextWindow
    models: tuple[_ModelWindows, ...]


def context_window(model: str) -> ContextWindow:
    """The window of a model, or a cautious guess."""
    name = model.rpartition("/")[2].lower()
    table = _table()
    for row in table.models:
        if any(fnmatchcase(name, pattern) for pattern in row.names):
            return row
    return table.default


@cache
def _table() -> _WindowTable:
    text = files(__package__).joinpath("context_windows.toml").read_text("utf-8")
    return _WindowTable.model_validate(tomllib.loads(text))
