"""The record of a try whose maker is gone: nothing is known of it but that."""

from datetime import UTC, datetime, timedelta

from agentbench.agents.interface import Agent
from agentbench.runs.plan import Planned
from agentbench.runs.record import AttemptRecord
from agentbench.runs.recording import AttemptIdentity, make_record
from agentbench.runs.workshop import Place, Workshop
from agentbench.sandbox.interface import Stream
from agentbench.scoring.classification import exception_fact
from agentbench.scoring.evidence import Evidence, StageName, StageResult
from agentbench.scoring.verdict import judge
from agentbench.stages.expected_tests import expected_tests
from agentbench.stages.interface import StageContext
from agentbench.stages.preparation import Prepared

_STAGE = StageName.GIT_CLONE  # how far it had come is not known


def lost_record(
    planned: Planned, agent: Agent, workshop: Workshop, place: Place, fault: BaseException
) -> AttemptRecord:
    """Judge a try of which nothing came back.

    Args:
        planned: The attempt.
        agent: Whose attempt it was.
        workshop: Of the run, which may be on another machine than the attempt was.
        place: Its folder, and which try it was.
        fault: What became of its maker: a lost sandbox, or our own Ctrl-C.
    """
    now, task = datetime.now(UTC), planned.task
    result = StageResult(
        stage=_STAGE,
        evidence=Evidence(exception=exception_fact(_STAGE, fault)),
        started_at=now,
        duration=timedelta(0),
    )
    context = StageContext(
        task=task,
        agent=agent,
        provider=workshop.provider,
        mirrors=workshop.mirrors,
        cancel=workshop.cancel,
        timeout_scale=workshop.timeout_scale,
        sink=_nowhere,
        save=_unsaved,
        keep_snapshot=_unkept,
    )
    identity = AttemptIdentity(
        run_id=place.run_id,
        attempt=place.attempt,
        retry_of=place.retry_of,
        agent=agent.name,
        model=None,
        started_at=now,
        total=timedelta(0),
        queue_wait=timedelta(0),
    )
    return make_record(
        identity=identity,
        context=context,
        results=[result],
        verdict=judge(expected_tests(task), [result]),
        folder=place.folder,
    )


def _nowhere(_stream: Stream, _chunk: bytes) -> None:
    pass


def _unsaved(_name: str, _content: bytes) -> None:
    pass


def _unkept(_context: StageContext) -> Prepared:
    raise AssertionError  # pragma: no cover - no stage runs
