"""From the exchanges of an attempt to its trajectory.

A client sends the whole conversation with each request. What is new in one is what follows the
model's last turn in it; a conversation without such a turn is a new one, of which only what was
not said before is told. So this holds for agents that shorten their context, that retry, and that
let other agents work for them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agentbench.agents.model_door import Usage
from agentbench.agents.trajectory.atif import (
    FinalMetrics,
    Metrics,
    Observation,
    ObservationResult,
    Source,
    Step,
    ToolCall,
    Trajectory,
    TrajectoryAgent,
)
from agentbench.agents.trajectory.conversation import Result, Speaker, Turn
from agentbench.agents.trajectory.exchange import Exchange, answered, asked


def trajectory(
    exchanges: Iterable[Exchange], *, agent: TrajectoryAgent, session: str, usage: Usage
) -> Trajectory | None:
    """The trajectory of an attempt; None where nothing was said.

    Args:
        exchanges: In the order in which they began.
        agent: Who acted.
        session: Names the attempt.
        usage: The sums, as the door counted them.
    """
    teller = _Teller(default_model=agent.model_name)
    for exchange in exchanges:
        teller.tell(exchange)
    if not teller.drafts:
        return None
    steps = tuple(draft.step(number) for number, draft in enumerate(teller.drafts, start=1))
    return Trajectory(
        session_id=session,
        agent=agent,
        steps=steps,
        final_metrics=FinalMetrics(
            total_prompt_tokens=usage.input_tokens,
            total_completion_tokens=usage.output_tokens,
            total_cached_tokens=usage.cached_tokens,
            total_cost_usd=usage.cost_usd,
            total_steps=len(steps),
        ),
    )


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A step whose calls may still be answered."""

    source: Source
    turn: Turn
    time: str
    model: str | None = None
    metrics: Metrics | None = None
    error: str | None = None
    results: list[Result] = field(default_factory=list)

    def waits_for(self, result: Result) -> bool:
        asked_for = sum(call.id == result.call_id for call in self.turn.calls)
        return asked_for > sum(known.call_id == result.call_id for known in self.results)

    def step(self, number: int) -> Step:
        is_agent = self.source is Source.AGENT
        calls = tuple(
            ToolCall(tool_call_id=c.id, function_name=c.name, arguments=dict(c.arguments))
            for c in self.turn.calls
        )
        results = tuple(
            ObservationResult(source_call_id=r.call_id or None, content=r.text)
            for r in self.results
        )
        return Step(
            step_id=number,
            timestamp=self.time,
            source=self.source,
            model_name=self.model,
            message=self.turn.text,
            reasoning_content=self.turn.reasoning or None if is_agent else None,
            tool_calls=calls or None if is_agent else None,
            observation=Observation(results=results) if results else None,
            metrics=self.metrics,
            llm_call_count=1 if is_agent else None,
            extra={"model_error": self.error} if self.error is not None else None,
        )


class _Teller:
    """Adds what each exchange brings that is new."""

    def __init__(self, *, default_model: str | None) -> None:
        self.drafts: list[_Draft] = []
        self._default_model = default_model
        self._said: set[tuple[Speaker, str]] = set()  # ever
        self._since_answer: set[tuple[Speaker, str]] = set()

    def tell(self, exchange: Exchange) -> None:
        turns = asked(exchange)
        goes_on = any(turn.speaker is Speaker.AGENT for turn in turns)
        for turn in _new_turns(turns):
            self._hear(turn, exchange.time, goes_on=goes_on)
        if exchange.failure is not None:
            failure = exchange.failure
            status = f"HTTP {failure.status}" if failure.status is not None else "no answer"
            text = f"the model did not answer: {failure.kind}, {status}: {failure.message}"
            self._add(Source.SYSTEM, Turn(speaker=Speaker.SYSTEM, text=text), exchange.time)
            self.drafts[-1].error = failure.kind
        else:
            self._answer(exchange)

    def _hear(self, turn: Turn, time: str, *, goes_on: bool) -> None:
        for result in turn.results:
            waiting = (draft for draft in reversed(self.drafts) if draft.waits_for(result))
            draft = next(waiting, None)
            if draft is not None:
                draft.results.append(result)
        said = (turn.speaker, turn.text)
        may_recur = goes_on and turn.speaker is Speaker.USER  # "go on" may be said twice
        known = self._since_answer if may_recur else self._said
        if turn.text and said not in known:
            self._said.add(said)
            self._since_answer.add(said)
            source = Source.SYSTEM if turn.speaker is Speaker.SYSTEM else Source.USER
            self._add(source, turn, time)

    def _answer(self, exchange: Exchange) -> None:
        self._add(Source.AGENT, answered(exchange), exchange.time)
        self._since_answer.clear()
        draft, usage = self.drafts[-1], exchange.usage
        draft.model = exchange.model if exchange.model != self._default_model else None
        draft.metrics = Metrics(
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cost_usd=usage.cost_usd,
        )

    def _add(self, source: Source, turn: Turn, time: str) -> None:
        self.drafts.append(_Draft(source=source, turn=turn, time=time))


def _new_turns(turns: Sequence[Turn]) -> Sequence[Turn]:
    """What follows the model's last turn, and what the system says, which always comes first."""
    spoken = [number for number, turn in enumerate(turns) if turn.speaker is Speaker.AGENT]
    start = spoken[-1] + 1 if spoken else 0
    system = [turn for turn in turns[:start] if turn.speaker is Speaker.SYSTEM]
    return [*system, *turns[start:]]
