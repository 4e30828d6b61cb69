"""Requests, responses and what carries them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})


class TransportError(Exception):
    """No response was received."""


class Headers(Mapping[str, str]):
    """Header fields; their names are compared without regard to case."""

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self._fields = {name.lower(): (name, value) for name, value in (fields or {}).items()}

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()][1]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._fields.values())

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"


@dataclass(frozen=True)
class Request:
    """What is sent."""

    method: str
    url: str
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice does no more than sending it once."""
        return self.method.upper() in _REPEATABLE or "Idempotency-Key" in self.headers


@dataclass(frozen=True)
class Response:
    """What came back."""

    status: int
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""


Transport = Callable[[Request], Response]
