"""Counts what a function is called for, where few calls are the promise: a clock shows load."""

from types import ModuleType

import pytest


def calls_of(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> list[tuple[object, ...]]:
    """The arguments of each call of a module's function from now on."""
    calls: list[tuple[object, ...]] = []
    real = getattr(module, name)

    def counted(*args: object, **options: object) -> object:
        calls.append(args)
        return real(*args, **options)

    monkeypatch.setattr(module, name, counted)
    return calls
