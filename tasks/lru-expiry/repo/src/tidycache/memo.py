"""Remembering what a function returned."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any

from .cache import Cache

_MISSING = object()
_KEYWORDS = object()


def memoize(cache: Cache) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that keeps a function's results in a cache.

    Functions may share a cache. Arguments have to be hashable; `1`, `1.0` and `True` are
    different arguments. Exceptions are not kept.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def remembered(*args: Any, **kwargs: Any) -> Any:
            key = _call_key(function, args, kwargs)
            value = cache.get(key, _MISSING)
            if value is _MISSING:
                value = function(*args, **kwargs)
                cache.set(key, value)
            return value

        remembered.cache = cache  # type: ignore[attr-defined]
        return remembered

    return decorate


def _call_key(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Hashable:
    named = sorted(kwargs.items())
    values = (*args, _KEYWORDS, *(value for _, value in named))
    return (function, values, tuple(name for name, _ in named), tuple(map(type, values)))
