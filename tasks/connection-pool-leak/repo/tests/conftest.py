import pytest

from leasepool import Hooks, Pool


class Server:
    """Hands out numbered connections and remembers what was done to them."""

    def __init__(self):
        self.now = 100.0
        self.opened = []
        self.closed = []
        self.resets = []
        self.checks = []
        self.sick = set()

    def open(self):
        name = f"c{len(self.opened) + 1}"
        self.opened.append(name)
        return name

    def check(self, connection):
        self.checks.append(connection)
        return connection not in self.sick

    def pool(self, hooks=None, **options):
        functions = {
            "open": self.open,
            "close": self.closed.append,
            "check": self.check,
            "reset": self.resets.append,
            **(hooks or {}),
        }
        return Pool(Hooks(**functions), clock=lambda: self.now, **options)


@pytest.fixture
def server():
    return Server()
