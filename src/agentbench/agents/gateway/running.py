"""Starts the gateway of a run, on providers or on a recording, and ends it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from agentbench.agents.gateway.endpoints import Endpoints
from agentbench.agents.gateway.gateway import Gateway, GatewayOptions
from agentbench.agents.gateway.loop_thread import LoopThread
from agentbench.agents.gateway.prices import Prices
from agentbench.agents.gateway.recording import (
    RecordedAnswer,
    RecordingFile,
    RecordingUpstream,
    read_recording,
)
from agentbench.agents.gateway.redaction import Redactor
from agentbench.agents.gateway.replay import ReplayedUpstream
from agentbench.agents.gateway.upstream import Bounds, LiveUpstream, Upstream, http_client
from agentbench.errors import StorageError, UsageError


@contextmanager
def running(
    endpoints: Endpoints | None,
    *,
    model: str,
    prices: Prices,
    record: Path | None = None,
    replay: Path | None = None,
    bounds: Bounds | None = None,
) -> Iterator[Gateway]:
    """A gateway that answers, for as long as the block lasts.

    Args:
        endpoints: Where the model is; not needed for a replay.
        model: Its name, as its provider knows it.
        prices: What requests are priced by.
        record: A file that all answers are written to.
        replay: A file that all answers are taken from; nothing is sent anywhere.
        bounds: What an answer may take.

    Raises:
        InputError: the recording cannot be read, or gone on with.
        StorageError: the recording cannot be written.
        UsageError: there are neither endpoints nor a recording, or what goes not together.
    """
    if record is not None and replay is not None:
        raise UsageError("--record and --replay do not go together: a replay has nothing new")
    options = GatewayOptions(
        model=model,
        prices=prices,
        endpoints=endpoints,
        record=record,
        replay=replay,
        bounds=bounds or Bounds(),
    )
    recording = read_recording(options.replay) if options.replay is not None else None
    if recording is None and options.endpoints is None:
        raise UsageError("a gateway needs endpoints, or a recording to replay")
    loop = LoopThread()
    try:
        if recording is not None:
            with _serving(options, ReplayedUpstream(recording), loop) as gateway:
                yield gateway
        else:
            with (
                _live(options, loop) as upstream,
                _recorded(options, upstream) as kept,
                _serving(options, kept, loop) as gateway,
            ):
                yield gateway
    finally:
        loop.stop()


@contextmanager
def _serving(options: GatewayOptions, upstream: Upstream, loop: LoopThread) -> Iterator[Gateway]:
    gateway = Gateway(options, upstream, loop)
    try:
        yield gateway
    finally:
        gateway.close()


@contextmanager
def _live(options: GatewayOptions, loop: LoopThread) -> Iterator[LiveUpstream]:
    assert options.endpoints is not None
    client = http_client(options.bounds)
    try:
        yield LiveUpstream(options.endpoints, client)
    finally:
        loop.run(client.aclose())


@contextmanager
def _recorded(options: GatewayOptions, upstream: LiveUpstream) -> Iterator[Upstream]:
    path = options.record
    if path is None:
        yield upstream
        return
    assert options.endpoints is not None
    file = RecordingFile(path, model=options.model, wires=upstream.wires)
    keys = Redactor(options.endpoints.keys)
    faults: list[OSError] = []

    def write(make: Callable[[], RecordedAnswer]) -> None:
        try:
            file.add(make())
        except OSError as fault:
            faults.append(fault)

    with ThreadPoolExecutor(1, thread_name_prefix="agentbench-recording") as writer:
        try:
            yield RecordingUpstream(upstream, keys, lambda make: writer.submit(write, make))
        finally:
            writer.submit(file.close).result()
    if faults:
        raise StorageError(f"{path}: the recording is not whole: {faults[0].strerror}")
