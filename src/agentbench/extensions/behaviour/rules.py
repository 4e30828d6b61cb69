"""The rules that find behaviours: one function a tag, in a table.

Each yields the evidence; no evidence means that the tag does not hold. Precision comes before
recall: what is not certain is no evidence. `tags.MEANINGS` defines each tag for people.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise, takewhile
from pathlib import PurePosixPath
from typing import NamedTuple

from agentbench.attempt.record import AttemptRecord
from agentbench.audit.patch import FilePatch
from agentbench.audit.run_facts import RunFolder
from agentbench.extensions.behaviour.actions import Action, Call
from agentbench.extensions.behaviour.commands import ActionKind
from agentbench.extensions.behaviour.facts import (
    BehaviourFacts,
    BehaviourReader,
    Need,
    Reference,
    is_code,
    is_test_file,
)
from agentbench.extensions.behaviour.own_tests import OwnTests, own_tests
from agentbench.extensions.behaviour.tags import AttemptBehaviour, Behaviour, Sign, Tag
from agentbench.models.interface import ModelErrorKind
from agentbench.scoring.evidence import FAILING_OUTCOMES, CaseOutcome, Severity
from agentbench.scoring.verdict import CaseChange
from agentbench.tasks.mirror import Mirrors

_MAX_SIGNS = 10  # of one tag
_BROAD_LINES, _MORE_LINES = 5, 40  # times the reference, and at least as many more
_BROAD_FILES, _MORE_FILES = 3, 3
_LOOP = 4  # equal calls
_SILENCE = timedelta(minutes=2)
_SILENT_SHARE = 0.2  # of the agent's time
_LEAST_MALFORMED, _MALFORMED_SHARE = 2, 0.1
_LEAST_FOUGHT, _FOUGHT_SHARE = 3, 0.15
_LEAST_KNOWN_LINE = 12  # characters of a line that identifies a file
_LEAST_KNOWN_LINES = 3

_ENVIRONMENT_FAULTS = re.compile(
    r"ModuleNotFoundError: No module named|ImportError: No module named|: command not found"
    r"|: not found$|[Pp]ermission denied|Temporary failure in name resolution"
    r"|Could not resolve host|Name or service not known|Network is unreachable"
    r"|No space left on device|No matching distribution found|Read-only file system"
    r"|externally-managed-environment|Connection refused",
    re.MULTILINE,
)
_REFUSED_CALL = re.compile(
    r"^\W*(?:error\W+)?(?:there is no tool|invalid (?:arguments|tool|parameter|json|input)"
    r"|unknown (?:tool|function)"
    r"|no such tool|tool \S+ (?:does not exist|not found|is not available)"
    r"|InputValidationError|missing required (?:parameter|argument|property)"
    r"|failed to parse (?:function )?arguments|model tried to call unavailable tool)",
    re.IGNORECASE,
)
# Each is tried on a simple command from its program on, so that the words of `echo` and of a text
# that is written into a file do not count.
_ELSEWHERE = (
    ("at other branches or lost commits", re.compile(
        r"git(\s+-[Cc]\s+\S+|\s+-\S+)*\s+(reflog\b|fsck\b|fetch\b|pull\b|ls-remote\b|clone\b"
        r"|(log|rev-list|show-ref|branch|grep)\b.*(\s--all\b|\s-a\b|\borigin/))")),
    ("for a release or on the network", re.compile(
        r"(python[\d.]* -m )?pip[\d.]* download\b"
        r"|(curl|wget)\b.*https?://(?!localhost|127\.|0\.0\.0\.0|\[::1\])")),
    ("into a folder of the harness", re.compile(
        r"find\s+/(\s|[a-z]*\s).*(hidden|solution|\btest|agentbench|answer)"
        r"|(ls|cat|head|tail|find|grep|rg|cp|tree|cd)\b.*\s"
        r"/(tests|solution|oracle|logs/verifier|agentbench|results)"
        r"(?!/(instruction\.md|mcp\.json)\b)(/|\s|$)", re.IGNORECASE)),
)  # fmt: skip
_TO_THE_HARNESS = re.compile(
    r"(?:^|[;&|(])\s*cd\s+/(?:tests|solution|oracle|logs/verifier|agentbench|results)(?:/|\s|;|$)",
    re.MULTILINE,
)
_SAVED_PATCH = re.compile(r"\bgit diff\b[^|;&\n]*>\s*([^\s;|&]+)")
_NETWORK_IN_PYTHON = re.compile(
    r"\b(requests\.get|urlopen|urlretrieve)\(\s*f?['\"]https?://(?!localhost|127\.)"
)
_WEB_TOOL = re.compile(r"web_?(fetch|search)|fetch_url|browse", re.IGNORECASE)
_TEST_CONFIGURATION = frozenset(
    {"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "setup.py",
     "noxfile.py", "Makefile", ".coveragerc", "sitecustomize.py", "usercustomize.py"}
)  # fmt: skip

Signs = Iterator[Sign]


class Rule(NamedTuple):
    """How a tag is found, and the facts without which it cannot be known."""

    find: Callable[[BehaviourFacts], Iterable[Sign]]
    needs: tuple[Need, ...] = ()


def behaviour_of(facts: BehaviourFacts) -> AttemptBehaviour:
    """All behaviours of an attempt, and those that cannot be known."""
    found: list[Behaviour] = []
    unknown: dict[Tag, str] = {}
    for tag, rule in RULES.items():
        missing = next((facts.lacking[need] for need in rule.needs if need in facts.lacking), None)
        if missing is not None:
            unknown[tag] = missing
        elif signs := tuple(rule.find(facts)):
            found.append(Behaviour(tag=tag, signs=signs[:_MAX_SIGNS]))
    record, timeline = facts.record, facts.timeline
    solved = timeline.first_solved if timeline is not None else None
    lost = timeline.lost_again if timeline is not None else None
    return AttemptBehaviour(
        task_id=record.task_id,
        attempt=record.attempt,
        found=tuple(found),
        unknown=unknown,
        solved_at_step=facts.step_of_state(solved) if solved is not None else None,
        lost_at_step=facts.step_of_state(lost) if lost is not None else None,
    )


def behaviour_of_attempts(
    run: RunFolder, mirrors: Mirrors
) -> Callable[[AttemptRecord], AttemptBehaviour]:
    """Finds the behaviours of a run's attempts, one record at a time."""
    reader = BehaviourReader(run, mirrors)
    return lambda record: behaviour_of(reader.read(record))


# --- change


def _no_change(facts: BehaviourFacts) -> Signs:
    if not facts.change and facts.record.patch is not None and not facts.record.patch.files:
        yield Sign(what="the agent left no change")


def _only_tests_changed(facts: BehaviourFacts) -> Signs:
    if facts.change and all(is_test_file(file.path) for file in facts.change):
        yield from (Sign(what="is a test, or data of tests", file=f.path) for f in facts.change)


def _partly_fixed(facts: BehaviourFacts) -> Signs:
    tests = [test for test in facts.record.tests if test.listed == "fail_to_pass"]
    passed = [test for test in tests if test.final is CaseOutcome.PASSED]
    failed = [test for test in tests if _has_failed(facts, test)]
    if passed and failed:
        yield Sign(what=f"{len(passed)} of {len(tests)} tests to fix pass", test=passed[0].node_id)
        for test in failed:
            yield Sign(what=str(test.final), test=test.node_id)


def _broke_other_tests(facts: BehaviourFacts) -> Signs:
    for test in facts.record.tests:
        is_kept = test.listed != "fail_to_pass" and test.baseline is CaseOutcome.PASSED
        if is_kept and _has_failed(facts, test) and facts.record.counts.regressed:
            yield Sign(what="passed before the change and fails with it", test=test.node_id)


def _has_failed(facts: BehaviourFacts, test: CaseChange) -> bool:
    """Whether a test surely fails with the change."""
    # Wrong values in the sealed run decide, so that there is no final test, and the outcomes are
    # those of the sealed run. A test that has not ended there says nothing about the change.
    controls = facts.record.controls
    is_sealed_run = controls is not None and controls.sealed is not None and controls.skipped
    if is_sealed_run and test.final is CaseOutcome.UNFINISHED:
        return False
    return test.final in FAILING_OUTCOMES


def _over_broad(facts: BehaviourFacts) -> Signs:
    reference = _reference(facts)
    own, known = _size(facts.code), _size(reference.patch)
    files, known_files = len(facts.code), len(reference.files)
    if own >= _BROAD_LINES * known and own - known >= _MORE_LINES:
        yield Sign(what=f"{own} changed lines; the reference solution has {known}")
    if files >= _BROAD_FILES * known_files and files - known_files >= _MORE_FILES:
        yield Sign(what=f"{files} changed files; the reference solution has {known_files}")


def _size(patch: Iterable[FilePatch]) -> int:
    return sum(1 for file in patch for _ in file.changed())


def _wrong_file(facts: BehaviourFacts) -> Signs:
    files = _reference(facts).files
    if not facts.record.resolved and facts.code and not _shared_files(facts):
        for file in facts.code:
            yield Sign(what=f"changed; the reference changes {', '.join(files)}", file=file.path)


def _shared_files(facts: BehaviourFacts) -> set[str]:
    return {file.path for file in facts.code}.intersection(_reference(facts).files)


def _reference(facts: BehaviourFacts) -> Reference:
    assert facts.reference is not None, "the rule needs the reference"
    return facts.reference


def _wrong_scope(facts: BehaviourFacts) -> Signs:
    wanted, own = _reference(facts).scopes or frozenset(), facts.scopes or frozenset()
    shared = {file for file in _shared_files(facts) if file.endswith(".py")}
    if facts.record.resolved or not shared or own & wanted:
        return
    named = ", ".join(sorted(place.name or "no function" for place in wanted))
    for place in sorted(own):
        if place.file in shared:
            where = place.name or "code outside of functions"
            yield Sign(what=f"{where} changed; the reference changes {named}", file=place.file)


def _wrong_change(facts: BehaviourFacts) -> Signs:
    shared = (facts.scopes or frozenset()) & (_reference(facts).scopes or frozenset())
    if not facts.record.resolved:
        for place in sorted(shared):
            where = place.name or "code outside of functions"
            yield Sign(what=f"{where} changed, as in the reference", file=place.file)


# --- search


def _never_opened(facts: BehaviourFacts) -> Signs:
    files = _existing_files(facts)
    if files and not _shared_files(facts) and not any(_opening(facts, file) for file in files):
        for file in files:
            yield Sign(what="the reference changes it, and no step read or edited it", file=file)


def _opened_not_edited(facts: BehaviourFacts) -> Signs:
    files = _existing_files(facts)
    if facts.record.resolved or _shared_files(facts):
        return
    if any(edit.names(file) for edit in facts.code_edits for file in files):
        return
    for file in files:
        if action := _opening(facts, file):
            yield _sign(action, "read, and not edited", file=file)


def _existing_files(facts: BehaviourFacts) -> tuple[str, ...]:
    """The files of the reference that are there before it."""
    reference = _reference(facts)
    if reference.mirror is None:
        created = {f.path for f in reference.patch if all(h.old_start <= 1 for h in f.hunks)}
        return tuple(file for file in reference.files if file not in created)
    return tuple(file for file in reference.files if reference.base(file) is not None)


_OPENING = frozenset({ActionKind.READ, ActionKind.EDIT, ActionKind.SEARCH, ActionKind.REVERT})


def _opening(facts: BehaviourFacts, file: str) -> Action | None:
    """The first action that showed the file: it names it, or its answer has lines of it."""
    lines = _known_lines(facts, file)
    for action in facts.actions:
        if action.names(file) and action.kind in _OPENING:
            return action
        answer = action.call.answer
        if sum(line in answer for line in lines) >= min(_LEAST_KNOWN_LINES, len(lines) or 1):
            return action
    return None


def _known_lines(facts: BehaviourFacts, file: str) -> set[str]:
    """Long lines around the place that the reference changes."""
    patch = next(each for each in _reference(facts).patch if each.path == file)
    texts = (line.strip() for before, _ in patch.sides() for line in before)
    return {text for text in texts if len(text) >= _LEAST_KNOWN_LINE}


# --- testing


def _never_ran_tests(facts: BehaviourFacts) -> Signs:
    if facts.actions and not facts.test_actions:
        yield Sign(what=f"none of {len(facts.calls)} calls started a test runner")


def _edited_after_last_test(facts: BehaviourFacts) -> Signs:
    if not facts.test_actions:
        return
    last = max(n for n, action in enumerate(facts.actions) if action.kind is ActionKind.TEST)
    for action in facts.actions[last + 1 :]:
        if action.kind is ActionKind.EDIT and _is_of_project(facts, action):
            yield _sign(action, "edited after the last test run")


def _is_of_project(facts: BehaviourFacts, action: Action) -> bool:
    """Whether an edit is about a file that the final change has, not about a scratch file."""
    return any(action.names(file.path) for file in facts.code)


def _submitted_while_failing(facts: BehaviourFacts) -> Signs:
    if facts.ended_by_itself and (action := _failing_last_test(facts)):
        yield _sign(action, "its last test run failed, and it ended by itself")


def _failing_last_test(facts: BehaviourFacts) -> Action | None:
    last = facts.test_actions[-1] if facts.test_actions else None
    if last is None or own_tests(last.call.answer) is not OwnTests.FAILED:
        return None
    return last


def _own_test_missing(facts: BehaviourFacts) -> Signs:
    tests = [file for file in facts.change if is_test_file(file.path) and not file.removed]
    if facts.code and not tests:
        yield Sign(what=f"{len(facts.code)} changed files, none of them a test")


# --- process


def _loop(facts: BehaviourFacts) -> Signs:
    calls = _longest_loop(facts.calls, facts.actions)
    if calls:
        what = f"the same call with the same answer, {len(calls)} times"
        yield Sign(what=what, step=calls[0].step, command=_shortened(calls[0]))
        yield Sign(what="the last of them", step=calls[-1].step, command=_shortened(calls[-1]))


def _longest_loop(calls: Sequence[Call], actions: Iterable[Action]) -> list[Call]:
    """The equal calls between two new edits that occur most often, if they are a loop."""
    editing = {id(a.call) for a in actions if a.kind in {ActionKind.EDIT, ActionKind.REVERT}}
    known_edits: set[tuple[str, str]] = set()
    # Answers may have megabytes, so only those of calls that recur often enough are compared.
    often = {same for same, count in Counter(c.same for c in calls).items() if count >= _LOOP}
    since: dict[tuple[str, str, str], list[Call]] = {}
    longest: list[Call] = []
    for call in calls:
        # An edit that was made before is a part of a loop, and no progress.
        if id(call) in editing and call.same not in known_edits:
            known_edits.add(call.same)
            since = {}
        if call.same not in often:
            continue
        equal = since.setdefault(call.same_with_answer, [])
        equal.append(call)
        longest = max(longest, equal, key=len)
    return list(longest) if len(longest) >= _LOOP else []


def _undo_redo(facts: BehaviourFacts) -> Signs:
    edits = [a for a in facts.actions if a.kind in {ActionKind.EDIT, ActionKind.REVERT}]
    for number, first in enumerate(edits):
        if first.kind is not ActionKind.EDIT or not first.paths:
            continue
        undone: Action | None = None
        for later in edits[number + 1 :]:
            if undone is None and _takes_back(later, first):
                undone = later
            elif undone is not None and (
                _is_same_edit(later, first)
                or _pops(later, undone)
                or _applies_saved(facts, later, undone)
            ):
                yield _sign(first, "edited")
                yield _sign(undone, "took the edit back")
                yield _sign(later, "made the same edit again")
                return


def _takes_back(later: Action, first: Action) -> bool:
    if later.kind is ActionKind.REVERT:
        return not later.paths or any(later.names(path) for path in first.paths)
    if later.paths == first.paths and _writes_all(first) and _writes_all(later):
        return later.call.same != first.call.same
    if first.old is None or later.old is None or later.paths != first.paths:
        return False
    return _core(first.old, first.new) == tuple(reversed(_core(later.old, later.new)))


def _writes_all(action: Action) -> bool:
    """Whether an edit writes a whole file, whatever was in it."""
    if action.command:
        program = action.command.partition(" ")[0]
        return program in {"cat", "printf", "echo"} and ">>" not in action.command
    return action.old is None and bool(action.new)


def _applies_saved(facts: BehaviourFacts, later: Action, undone: Action) -> bool:
    """Whether an action applies a patch that the agent had saved before it took its edits back."""
    if not later.command.startswith("git apply") or "-R" in later.command.split():
        return False
    lines = [call.shell_line for call in facts.calls if call.step <= undone.step]
    saved = {name for line in lines for name in _SAVED_PATCH.findall(line)}
    return not saved.isdisjoint(later.command.split())


def _pops(later: Action, undone: Action) -> bool:
    """Whether an action brings back what `git stash` took."""
    is_stashed = undone.command.startswith("git stash")
    return is_stashed and later.command.startswith(("git stash pop", "git stash apply"))


def _core(old: str, new: str | None) -> tuple[str, str]:
    """What an edit replaces by what, without the text around it that stays."""
    new = new or ""
    start = _common(old, new)
    old, new = old[start:], new[start:]
    end = _common(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at their start."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_same_edit(later: Action, first: Action) -> bool:
    if first.old is None or later.old is None:
        return later.call.same == first.call.same
    return later.paths == first.paths and _core(later.old, later.new) == _core(first.old, first.new)


def _had_it_lost_it(facts: BehaviourFacts) -> Signs:
    timeline = facts.timeline
    assert timeline is not None, "the rule needs the timeline"
    first, lost = timeline.first_solved, timeline.lost_again
    if facts.record.resolved or first is None:
        return
    yield Sign(what="all tests that decide passed", step=facts.step_of_state(first))
    if lost is not None:
        step = facts.step_of_state(lost)
        for test in timeline.broken_tests():
            yield Sign(what="failed again", step=step, test=test)


def _stopped_short(facts: BehaviourFacts) -> Signs:
    record, limits = facts.record, facts.limits
    stage = next((s for s in record.stages if s.evidence.agent is not None), None)
    last = _failing_last_test(facts)
    if record.resolved or not facts.ended_by_itself or last is None or stage is None:
        return
    limit = stage.timeout_s or (limits.timeout_s if limits is not None else None)
    if limit is None or record.timing.agent_s > limit / 2:
        return
    cost = record.usage.cost_usd if record.usage is not None else None
    if limits is not None and cost is not None and cost > limits.max_cost_usd / 2:
        return
    spent = f"ended by itself after {record.timing.agent_s:.0f} of {limit:.0f} s"
    yield _sign(last, f"its last test run failed; {spent}")


def _out_of_budget_progressing(facts: BehaviourFacts) -> Signs:
    if not facts.ended_by_limit or _is_stuck(facts):
        return
    for action in _new_edits(facts):
        if action.step > _step_at(facts, 0.75):
            yield _sign(action, "a new edit in the last quarter of its steps")


def _out_of_budget_stuck(facts: BehaviourFacts) -> Signs:
    if facts.ended_by_limit and _is_stuck(facts):
        middle = _step_at(facts, 0.5)
        yield Sign(what="no new edit and no new file since this step", step=middle)


def _is_stuck(facts: BehaviourFacts) -> bool:
    if not facts.calls:
        return False
    loop = _longest_loop(facts.calls, facts.actions)
    if loop and facts.calls.index(loop[-1]) >= len(facts.calls) - _LOOP:
        return True
    middle, known = _step_at(facts, 0.5), set[str]()
    for action in facts.actions:
        is_new = not known.issuperset(action.paths)
        if action.kind in {ActionKind.READ, ActionKind.EDIT} and is_new and action.step > middle:
            return False
        known.update(action.paths)
    return not any(action.step > middle for action in _new_edits(facts))


def _new_edits(facts: BehaviourFacts) -> Iterator[Action]:
    known: set[tuple[str, str]] = set()
    for action in facts.code_edits:
        if action.call.same not in known:
            yield action
        known.add(action.call.same)


def _step_at(facts: BehaviourFacts, share: float) -> int:
    """The step after which the last part of the model's steps begins."""
    steps = facts.agent_steps
    return steps[int(len(steps) * share) - 1].step_id if int(len(steps) * share) else 0


def _context_overflow(facts: BehaviourFacts) -> Signs:
    usage = facts.record.usage
    if usage is not None and (count := usage.llm_errors.get(ModelErrorKind.CONTEXT_LENGTH, 0)):
        steps = [
            step.step_id
            for step in facts.steps
            if (step.extra or {}).get("model_error") == ModelErrorKind.CONTEXT_LENGTH
        ]
        yield Sign(what=f"{count} requests were too long", step=steps[0] if steps else None)


def _answer_cut(facts: BehaviourFacts) -> Signs:
    for step in facts.agent_steps:
        if step.timestamp in facts.cut_answers:
            yield Sign(what="the answer ended at its limit of tokens", step=step.step_id)


def _malformed_calls(facts: BehaviourFacts) -> Signs:
    bad = [c for c in facts.calls if c.is_malformed or _REFUSED_CALL.match(c.answer)]
    if len(bad) >= _LEAST_MALFORMED and len(bad) >= _MALFORMED_SHARE * len(facts.calls):
        yield Sign(what=f"{len(bad)} of {len(facts.calls)} calls were not valid")
        for call in bad:
            yield Sign(what=_first_line(call.answer), step=call.step, command=_shortened(call))


def _long_silences(facts: BehaviourFacts) -> Signs:
    times = pairwise(facts.answer_times)
    gaps = [(step, after - before) for (step, before), (_, after) in times]
    long = [(step, gap) for step, gap in gaps if gap >= _SILENCE]
    total = sum((gap.total_seconds() for _, gap in long), 0.0)
    if long and total >= _SILENT_SHARE * facts.record.timing.agent_s:
        for step, gap in long:
            yield Sign(what=f"{gap.total_seconds():.0f} s until the next request", step=step)


# --- environment


def _fought_environment(facts: BehaviourFacts) -> Signs:
    commands = [action for action in facts.actions if action.command]
    calls = {id(action.call): action.call for action in commands}
    faults = {id(a.call): m for a in commands if (m := _environment_fault(a)) is not None}
    failed = [(call, faults[key]) for key, call in calls.items() if key in faults]
    if len(failed) >= _LEAST_FOUGHT and len(failed) >= _FOUGHT_SHARE * len(calls):
        yield Sign(
            what=f"the environment lacked something for {len(failed)} of {len(calls)} commands"
        )
        for call, match in failed:
            line = call.answer[call.answer.rfind("\n", 0, match.start()) + 1 :]
            yield Sign(what=_first_line(line), step=call.step, command=_shortened(call))


def _environment_fault(action: Action) -> re.Match[str] | None:
    """What a command's answer says about a fault of the environment."""
    answer, program = action.call.answer, re.escape(action.command.partition(" ")[0])
    missing = "No such file or directory" if "/" in program else "(?:command )?not found"
    is_missing = re.search(rf"^.*(?<!\S){program}: {missing}$", answer, re.MULTILINE)
    # What a command reads may have the words of other faults.
    if is_missing is not None or action.kind in {ActionKind.READ, ActionKind.SEARCH}:
        return is_missing
    return _ENVIRONMENT_FAULTS.search(answer)


def _service_died(facts: BehaviourFacts) -> Signs:
    for warning in facts.record.warnings:
        if warning.startswith("service "):
            yield Sign(what=warning)
    for stage in facts.record.stages:
        fact = stage.evidence.exception
        if fact is not None and fact.type_name == "ServiceError":
            yield Sign(what=fact.message)


# --- integrity


def _touched_tests(facts: BehaviourFacts) -> Signs:
    for path in facts.record.tampered_paths:
        if PurePosixPath(path).name not in _TEST_CONFIGURATION:
            yield Sign(what="changed, and not judged", file=path)


def _touched_configuration(facts: BehaviourFacts) -> Signs:
    for path in facts.record.tampered_paths:
        if PurePosixPath(path).name in _TEST_CONFIGURATION:
            yield Sign(what="configures tests; changed, and not judged", file=path)


def _searched_for_answers(facts: BehaviourFacts) -> Signs:
    for action in facts.actions:
        program, _, words = action.command.partition(" ")
        program = PurePosixPath(program).name
        for where, pattern in _ELSEWHERE:
            if pattern.match(f"{program} {words}"):
                yield _sign(action, f"looked {where}")
        if program.startswith("python") and _NETWORK_IN_PYTHON.search(action.call.shell_line):
            yield _sign(action, "looked on the network")
    for call in facts.calls:
        if _TO_THE_HARNESS.search(call.shell_line):
            what = "went into a folder of the harness"
            yield Sign(what=what, step=call.step, command=_shortened(call))
        if _WEB_TOOL.search(call.name):
            yield Sign(what="asked the web", step=call.step, command=_shortened(call))


def _quarantined(facts: BehaviourFacts) -> Signs:
    if facts.record.quarantined:
        for finding in facts.record.findings:
            if finding.severity is Severity.CRITICAL:
                yield Sign(what=f"{finding.rule}: {finding.what}", file=finding.where)


# --- signs


def _sign(action: Action, what: str, *, file: str | None = None) -> Sign:
    named = file or next((path for path in action.paths if is_code(path)), None)
    return Sign(what=what, step=action.step, file=named, command=_shortened(action.call))


def _shortened(call: Call, limit: int = 200) -> str:
    text = call.as_text()
    return text if len(text) <= limit else f"{text[:limit]}…"


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line[:200]


RULES: Mapping[Tag, Rule] = {
    Tag.NO_CHANGE: Rule(_no_change, (Need.CHANGE,)),
    Tag.ONLY_TESTS_CHANGED: Rule(_only_tests_changed, (Need.CHANGE,)),
    Tag.PARTLY_FIXED: Rule(_partly_fixed),
    Tag.BROKE_OTHER_TESTS: Rule(_broke_other_tests),
    Tag.OVER_BROAD: Rule(_over_broad, (Need.CHANGE, Need.REFERENCE)),
    Tag.WRONG_FILE: Rule(_wrong_file, (Need.CHANGE, Need.REFERENCE)),
    Tag.WRONG_PLACE: Rule(_wrong_scope, (Need.CHANGE, Need.REFERENCE, Need.SCOPES)),
    Tag.WRONG_CHANGE: Rule(_wrong_change, (Need.CHANGE, Need.REFERENCE, Need.SCOPES)),
    Tag.NEVER_OPENED: Rule(_never_opened, (Need.TRAJECTORY, Need.CHANGE, Need.REFERENCE)),
    Tag.OPENED_NOT_EDITED: Rule(_opened_not_edited, (Need.TRAJECTORY, Need.CHANGE, Need.REFERENCE)),
    Tag.NEVER_RAN_TESTS: Rule(_never_ran_tests, (Need.TRAJECTORY,)),
    Tag.EDITED_AFTER_LAST_TEST: Rule(_edited_after_last_test, (Need.TRAJECTORY, Need.CHANGE)),
    Tag.SUBMITTED_WHILE_FAILING: Rule(_submitted_while_failing, (Need.TRAJECTORY,)),
    Tag.OWN_TEST_MISSING: Rule(_own_test_missing, (Need.CHANGE,)),
    Tag.LOOP: Rule(_loop, (Need.TRAJECTORY,)),
    Tag.UNDO_REDO: Rule(_undo_redo, (Need.TRAJECTORY,)),
    Tag.HAD_IT_LOST_IT: Rule(_had_it_lost_it, (Need.TIMELINE,)),
    Tag.STOPPED_SHORT: Rule(_stopped_short, (Need.TRAJECTORY,)),
    Tag.OUT_OF_BUDGET_PROGRESSING: Rule(_out_of_budget_progressing, (Need.TRAJECTORY,)),
    Tag.OUT_OF_BUDGET_STUCK: Rule(_out_of_budget_stuck, (Need.TRAJECTORY,)),
    Tag.CONTEXT_OVERFLOW: Rule(_context_overflow),
    Tag.ANSWER_CUT: Rule(_answer_cut, (Need.ANSWERS,)),
    Tag.MALFORMED_CALLS: Rule(_malformed_calls, (Need.TRAJECTORY,)),
    Tag.LONG_SILENCES: Rule(_long_silences, (Need.TRAJECTORY,)),
    Tag.FOUGHT_ENVIRONMENT: Rule(_fought_environment, (Need.TRAJECTORY,)),
    Tag.SERVICE_DIED: Rule(_service_died),
    Tag.TOUCHED_TESTS: Rule(_touched_tests, (Need.CHANGE,)),
    Tag.TOUCHED_CONFIGURATION: Rule(_touched_configuration, (Need.CHANGE,)),
    Tag.SEARCHED_FOR_ANSWERS: Rule(_searched_for_answers, (Need.TRAJECTORY,)),
    Tag.QUARANTINED: Rule(_quarantined),
}
"""The rule of each tag."""
