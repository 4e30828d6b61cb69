"""Answers from a recording, and from nowhere else."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Lock

from agentbench.agents.gateway.recording import RecordedAnswer, Recording
from agentbench.agents.gateway.request_digest import digest_of
from agentbench.agents.gateway.upstream import Answer, Call, UpstreamError
from agentbench.agents.model_door import ModelErrorKind, Wire


class ReplayedUpstream:
    """Gives each attempt its own answers again, each of them once.

    The answer to a request is the first that is left of those to the same words; else of those to
    a request of the same outline; else of its wire, in the order of the recording.
    """

    def __init__(self, recording: Recording) -> None:
        self._wires = recording.head.wires
        self._left: dict[str, list[RecordedAnswer]] = defaultdict(list)
        self._lock = Lock()
        for answer in recording.answers:
            self._left[answer.lane].append(answer)

    @property
    def wires(self) -> tuple[Wire, ...]:
        """Those that could be spoken when it was recorded."""
        return self._wires

    @asynccontextmanager
    async def ask(self, call: Call) -> AsyncIterator[Answer]:
        """Look the answer up."""
        found = self._take(call)
        if found is None:
            lane = f" for {call.lane}" if call.lane else ""
            message = f"not in the recording: a request of {call.model}{lane} that was not made"
            raise UpstreamError(ModelErrorKind.CONNECTION, message)
        if found.status is None:
            raise _failure_of(found)
        yield Answer(status=found.status, headers=found.headers, chunks=_chunks(found))

    def _take(self, call: Call) -> RecordedAnswer | None:
        digest = digest_of(call)
        fits: tuple[Callable[[RecordedAnswer], bool], ...] = (
            lambda each: each.words == digest.words,
            lambda each: each.outline == digest.outline,
            lambda each: each.wire is call.route.wire,
        )
        with self._lock:
            left = self._left[call.lane]
            for fit in fits:
                for at, answer in enumerate(left):
                    if fit(answer):
                        return left.pop(at)
        return None


async def _chunks(recorded: RecordedAnswer) -> AsyncIterator[bytes]:
    for chunk in recorded.data():
        yield chunk
    if recorded.failure is not None:
        raise _failure_of(recorded)


def _failure_of(recorded: RecordedAnswer) -> UpstreamError:
    kind = recorded.failure or ModelErrorKind.CONNECTION
    return UpstreamError(kind, recorded.message)
