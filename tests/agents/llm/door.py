"""A door without a gateway behind it: its socket leads straight to a scripted model."""

import selectors
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from agentbench.agents.model_door import ModelFacts, Usage, Wire
from tests.fakes.scripted_model import ScriptedModel

BOTH = frozenset({Wire.OPENAI_CHAT, Wire.ANTHROPIC_MESSAGES})


class StraightDoor:
    """Hands bytes on; what passed is what the model says it told."""

    def __init__(self, scripted: ScriptedModel, folder: Path, wires, model: str) -> None:
        self.scripted = scripted
        self.wires = frozenset(wires)
        self.model = model
        self.token = scripted.key
        self.socket = folder / "s"
        self.over_budget = False

    def facts(self) -> ModelFacts:
        told = self.scripted.told
        usage = Usage(
            requests=len(self.scripted.requests),
            input_tokens=told.input,
            output_tokens=told.output,
            cost_usd=0.5,
        )
        return ModelFacts(usage=usage, over_budget=self.over_budget)


@contextmanager
def door_to(scripted: ScriptedModel, *, wires=BOTH, model="scripted") -> Iterator[StraightDoor]:
    """A door to a model that runs already."""
    with tempfile.TemporaryDirectory() as folder:
        door = StraightDoor(scripted, Path(folder), wires, model)
        address = urlsplit(scripted.base_url)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(door.socket))
            listener.listen(64)
            thread = Thread(target=_accept, args=(listener, (address.hostname, address.port)))
            thread.start()
            try:
                yield door
            finally:
                with suppress(OSError):
                    listener.shutdown(socket.SHUT_RDWR)
                thread.join()


def _accept(listener: socket.socket, target: tuple[str, int]) -> None:
    threads = []
    while True:
        try:
            here, _ = listener.accept()
        except OSError:
            break
        threads.append(Thread(target=_hand_on, args=(here, socket.create_connection(target))))
        threads[-1].start()
    for thread in threads:
        thread.join()


def _hand_on(here: socket.socket, there: socket.socket) -> None:
    """Until either end is closed or reset; the other end is told so."""
    with here, there, selectors.DefaultSelector() as ready, suppress(OSError):
        ready.register(here, selectors.EVENT_READ, there)
        ready.register(there, selectors.EVENT_READ, here)
        while True:
            for key, _ in ready.select():
                data = key.fileobj.recv(65536)
                if not data:
                    return
                key.data.sendall(data)
