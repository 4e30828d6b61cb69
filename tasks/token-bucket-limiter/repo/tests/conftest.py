import pytest


class ManualClock:
    """Nanoseconds that pass only when told to."""

    def __init__(self):
        self.now = 5_000_000_000

    def __call__(self):
        return self.now

    def advance(self, seconds=0, *, ms=0, ns=0):
        self.now += seconds * 1_000_000_000 + ms * 1_000_000 + ns


@pytest.fixture
def clock():
    return ManualClock()
