"""How connections are handled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

C = TypeVar("C")


def _healthy(connection: object) -> bool:
    return True


def _nothing(connection: object) -> None:
    return None


@dataclass(frozen=True)
class Hooks(Generic[C]):
    """Functions that open, close, check and reset a connection. None of them is called with the pool's lock held."""

    open: Callable[[], C]
    close: Callable[[C], object] = _nothing
    check: Callable[[C], object] = _healthy
    reset: Callable[[C], object] = _nothing
