from random import Random

import pytest

from patiently import Client, Policy
from patiently.testing import FakeTime, ScriptedTransport


class Bench:
    """A client, its transport and its clock, all prepared."""

    def __init__(self, script, **policy):
        self.time = FakeTime()
        self.transport = ScriptedTransport(script)
        self.client = Client(
            self.transport,
            Policy(**{"jitter": False, **policy}),
            sleep=self.time.sleep,
            now=self.time.now,
            random=Random(7),
        )

    def send(self, request):
        return self.client.send(request)

    @property
    def sleeps(self):
        return self.time.sleeps


@pytest.fixture
def bench():
    return Bench
