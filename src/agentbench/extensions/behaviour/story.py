"""The story of an attempt in a few sentences, from its actions and tags."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from agentbench.agents.built_in import REFERENCE_AGENTS
from agentbench.audit.run_facts import RunFolder
from agentbench.core.display_text import counted, list_with_more, printable
from agentbench.extensions.behaviour.commands import ActionKind
from agentbench.extensions.behaviour.facts import BehaviourFacts, BehaviourReader
from agentbench.extensions.behaviour.own_tests import OwnTests, own_tests
from agentbench.extensions.behaviour.rules import behaviour_of
from agentbench.extensions.behaviour.tags import AttemptBehaviour, Behaviour, Tag
from agentbench.scoring.evidence import AgentEnding, CaseOutcome
from agentbench.tasks.mirror import Mirrors

_MAX_FILES = 3
_ONLY_TESTS = "It changed only tests."
_MAX_STEPS = 6
_ENDINGS = {
    AgentEnding.SUBMITTED: "It stopped on its own",
    AgentEnding.STEP_LIMIT: "The step limit stopped it",
    AgentEnding.COST_LIMIT: "The cost limit stopped it",
    AgentEnding.TIME_LIMIT: "The time limit stopped it",
    AgentEnding.LLM_ERROR: "Its model did not answer, so it stopped",
    AgentEnding.TOOL_ERROR: "Its tools failed, so it stopped",
    AgentEnding.CRASHED: "It crashed",
    AgentEnding.INTERRUPTED: "It was interrupted",
}


def story_of(facts: BehaviourFacts, behaviour: AttemptBehaviour) -> Iterator[str]:
    """The sentences, in the order of the agent's work."""
    found = {each.tag: each for each in behaviour.found}
    if facts.calls:
        yield from _search(facts, found)
        yield from _edits(facts, found)
        yield from _tests(facts, found)
        yield from _process(found)
    elif facts.code:
        files = [file.path for file in facts.code]
        yield f"It changed {list_with_more(files, _MAX_FILES)}."
    elif Tag.ONLY_TESTS_CHANGED in found:
        yield _ONLY_TESTS
    if touched := found.get(Tag.TOUCHED_TESTS):
        names = list_with_more([str(sign.file) for sign in touched.signs], _MAX_FILES)
        yield f"It changed tests that were there before ({names}); they were not judged."
    if facts.timeline is not None:
        yield from _timeline(facts)
    if Tag.NO_CHANGE in found:
        yield "It left no change."
    if facts.ending is not None:
        yield _end(facts)
    yield from _outcome(facts, found)


def work_of(run: RunFolder, cache_dir: Path) -> Iterator[str]:
    """The story and the tags of a run's only attempt that was read, as lines of text."""
    (record,) = run.latest
    if record.agent_run is None or record.agent in REFERENCE_AGENTS:  # it was nobody's work
        return
    facts = BehaviourReader(run, Mirrors(cache_dir / "mirrors")).read(record)
    behaviour = behaviour_of(facts)
    yield "what the agent did"
    yield from (f"  {printable(sentence)}" for sentence in story_of(facts, behaviour))
    if behaviour.found:
        yield f"  behaviour: {', '.join(each.tag for each in behaviour.found)}"
    # A timeline is for those who ask for one, so that its absence is no news.
    unknown = {tag: why for tag, why in behaviour.unknown.items() if tag is not Tag.HAD_IT_LOST_IT}
    for why in dict.fromkeys(unknown.values()):
        yield f"  some tags are unknown, since {printable(why)}"


def _search(facts: BehaviourFacts, found: dict[Tag, Behaviour]) -> Iterator[str]:
    wanted = facts.reference.files if facts.reference is not None else ()
    if Tag.NEVER_OPENED in found:
        files = list_with_more(
            [str(sign.file) for sign in found[Tag.NEVER_OPENED].signs], _MAX_FILES
        )
        yield f"It never opened {files}, which the reference solution changes."
    for file in wanted[:_MAX_FILES]:
        reading = next(
            (a for a in facts.actions if a.kind is ActionKind.READ and a.names(file)), None
        )
        if reading is not None:
            yield f"At step {reading.step} it opened {file}, which the reference solution changes."


def _edits(facts: BehaviourFacts, found: dict[Tag, Behaviour]) -> Iterator[str]:
    edits = {
        file.path: [edit.step for edit in facts.code_edits if edit.names(file.path)]
        for file in facts.code
    }
    # In the order of the work; files whose steps are not known come last.
    order = sorted(edits, key=lambda file: edits[file][0] if edits[file] else len(facts.steps) + 1)
    for file in order[:_MAX_FILES]:
        if edits[file]:
            yield f"It edited {file} at {_steps(edits[file])}."
        else:
            yield f"It changed {file} with a command."
    if Tag.ONLY_TESTS_CHANGED in found:
        yield _ONLY_TESTS
    elif Tag.WRONG_FILE in found and Tag.NEVER_OPENED not in found:
        wanted = facts.reference.files if facts.reference is not None else ()
        reads = [action for action in facts.actions if action.kind is ActionKind.READ]
        if not any(action.names(file) for action in reads for file in wanted):
            yield f"The reference solution changes {list_with_more(wanted, _MAX_FILES)}."
    if Tag.UNDO_REDO in found:
        steps = [sign.step for sign in found[Tag.UNDO_REDO].signs if sign.step is not None]
        yield f"It made an edit, undid it and made it again, at {_steps(steps)}."


def _tests(facts: BehaviourFacts, found: dict[Tag, Behaviour]) -> Iterator[str]:
    runs = facts.test_actions
    if not runs:
        yield "It never ran tests."
        return
    last = runs[-1]
    outcome = own_tests(last.call.answer)
    if len(runs) == 1:
        start, subject = f"It ran tests once, at step {last.step}", "they"
    else:
        start, subject = f"It ran tests {len(runs)} times", f"the last run, at step {last.step},"
    if outcome is OwnTests.UNKNOWN:
        yield f"{start}; the output does not tell the result."
    else:
        yield f"{start}; {subject} {outcome.value}."
    if Tag.EDITED_AFTER_LAST_TEST in found:
        steps = [sign.step for sign in found[Tag.EDITED_AFTER_LAST_TEST].signs if sign.step]
        yield f"It then edited code at {_steps(steps)} and did not run tests again."


def _process(found: dict[Tag, Behaviour]) -> Iterator[str]:
    if loop := found.get(Tag.LOOP):
        first, last = loop.signs[0], loop.signs[-1]
        times = first.what.rpartition(", ")[2]
        where = f"from step {first.step} to step {last.step}"
        yield f"It made the same call {times}, {where}, and got the same answer each time."
    if fought := found.get(Tag.FOUGHT_ENVIRONMENT):
        yield f"{fought.signs[0].what[0].upper()}{fought.signs[0].what[1:]}."
    if searched := found.get(Tag.SEARCHED_FOR_ANSWERS):
        sign = searched.signs[0]
        yield f"It {sign.what} at step {sign.step}."
    if stuck := found.get(Tag.OUT_OF_BUDGET_STUCK):
        yield f"After step {stuck.signs[0].step} it made no new edit and opened no new file."


def _timeline(facts: BehaviourFacts) -> Iterator[str]:
    timeline = facts.timeline
    assert timeline is not None
    first, lost = timeline.first_solved, timeline.lost_again
    if first is None:
        best = max((len(each.passed) for each in timeline.judged), default=0)
        yield f"No state passed all tests that decide; the best one passed {best} of those to fix."
        return
    yield f"All tests that decide passed {_since(facts, first)}."
    if lost is not None:
        names = list_with_more(timeline.broken_tests(), _MAX_FILES)
        has_step = facts.step_of_state(lost) is not None
        broken = f", which broke {names}" if names and has_step else ""
        yield f"They no longer did {_since(facts, lost)}{broken}."
        if names and not has_step:
            yield f"Since then, {names} failed."
    after = [s for s in facts.agent_steps if s.step_id > (facts.step_of_state(first) or 0)]
    costs = [s.metrics.cost_usd for s in facts.agent_steps if s.metrics is not None]
    if after and costs and None not in costs:
        spent = sum(s.metrics.cost_usd or 0 for s in after if s.metrics is not None)
        yield f"${spent:.2f} of ${sum(filter(None, costs)):.2f} were spent after that."
    elif after:
        yield f"{len(after)} of {counted(len(facts.agent_steps), 'model answer')} came after that."


def _since(facts: BehaviourFacts, number: int) -> str:
    assert facts.timeline is not None
    step = facts.step_of_state(number)
    if step is not None:
        return f"after step {step}"
    start = facts.timeline.noted[0].at
    seconds = (facts.timeline.noted[number].at - start).total_seconds()
    return f"after {seconds:.0f} s" if number else "from the start"


def _end(facts: BehaviourFacts) -> str:
    assert facts.ending is not None
    record = facts.record
    seconds = record.timing.agent_s
    spent = [f"{seconds:.0f} s" if seconds >= 1 else "less than a second"]
    if facts.agent_steps:
        spent.append(counted(len(facts.agent_steps), "model answer"))
    if record.usage is not None and record.usage.cost_usd is not None:
        spent.append(f"${record.usage.cost_usd:.2f}")
    *most, last = spent
    after = f"{', '.join(most)} and {last}" if most else last
    return f"{_ENDINGS[facts.ending]} after {after}."


def _outcome(facts: BehaviourFacts, found: dict[Tag, Behaviour]) -> Iterator[str]:
    tests = [test for test in facts.record.tests if test.listed == "fail_to_pass"]
    passed = sum(test.final is CaseOutcome.PASSED for test in tests)
    if tests and not facts.record.resolved:
        unfinished = sum(test.final is CaseOutcome.UNFINISHED for test in tests)
        rest = f", and {unfinished} did not finish" if unfinished else ""
        if len(tests) == 1:
            yield f"The test to fix {'passed' if passed else 'did not pass'} in the end."
        else:
            yield f"In the end, {passed or 'none'} of the {len(tests)} tests to fix passed{rest}."
    if broken := found.get(Tag.BROKE_OTHER_TESTS):
        names = list_with_more([str(sign.test) for sign in broken.signs], _MAX_FILES)
        yield f"Its change broke {names}."


def _steps(steps: Sequence[int]) -> str:
    numbers = [str(number) for number in dict.fromkeys(steps)]
    if len(numbers) == 1:
        return f"step {numbers[0]}"
    if len(numbers) > _MAX_STEPS:
        return f"{len(numbers)} steps from {numbers[0]} to {numbers[-1]}"
    return f"steps {', '.join(numbers[:-1])} and {numbers[-1]}"
