"""Rules about a task's tests: whether passing them says that the bug is fixed."""

import ast
from collections.abc import Iterator, Mapping

from agentbench.audit.rule import RuleHit, info, warning
from agentbench.audit.task_facts import DecidingTestFile, FilesByPath, TaskFacts
from agentbench.errors import InputError
from agentbench.integrity.expectation_changes.engine import functions_by_tests, uncontrolled_reasons
from agentbench.integrity.extraction import WorkspaceChange
from agentbench.integrity.protection import ProtectionRules, protect
from agentbench.integrity.records import DroppedPath
from agentbench.integrity.trees import EntryKind, TreeEntry
from agentbench.python_source.functions import FoundFunction
from agentbench.python_source.python_syntax import name_of
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.test_command import parse_test_command
from agentbench.test_runs.python_runners import runner_of

_TASK_FILE = "task.toml"
_ASSERTING = ("assert", "raises", "warns", "fail", "expect", "verify", "check", "ensure", "should")
_FEW_TESTS = 2
_NOT_PYTHON = "it is not Python that can be changed"
_NOT_DEFINED = "the file does not define it"


def few_tests(facts: TaskFacts) -> Iterator[RuleHit]:
    """Few tests accept many wrong fixes; if none are listed, the whole run decides."""
    key = facts.task.answer_key
    if not key.fail_to_pass:
        what = "lists no test: exit code 0 without failures decides (see `validate --write-ids`)"
        yield info(f"{_TASK_FILE}: tests.fail_to_pass", what)
    elif len(key.fail_to_pass) < _FEW_TESTS and not key.pass_to_pass:
        what = "only one test decides, and no passing test has to keep passing"
        yield info(f"{_TASK_FILE}: tests.fail_to_pass", what)


def no_regression_tests(facts: TaskFacts) -> Iterator[RuleHit]:
    """Without them, a fix that breaks everything that no hidden test checks is resolved."""
    key = facts.task.answer_key
    if key.fail_to_pass and not key.pass_to_pass:
        what = "lists no regression tests: a fix that breaks all other code counts as resolved"
        yield warning(f"{_TASK_FILE}: tests.pass_to_pass", what)


def weakly_controlled(facts: TaskFacts) -> Iterator[RuleHit]:
    """Control runs change what a test expects; they show less for a test without one."""
    controlled = controlled_functions(facts)
    share = f"{sum(why is None for why in controlled.values())} of {len(controlled)}"
    for where, why in controlled.items():
        if why is not None:
            what = f"weakly controlled: {why}; {share} fail_to_pass functions are controlled"
            yield warning(where, what)


def controls_off(facts: TaskFacts) -> Iterator[RuleHit]:
    """A task that turns control runs off trusts what the tested process reports about itself."""
    if facts.task.controls is ControlLevel.OFF:
        what = "off: a report forged in the tested process goes unnoticed"
        yield info(f"{_TASK_FILE}: integrity.controls", what)


def asserts_nothing(facts: TaskFacts) -> Iterator[RuleHit]:
    """A test that asserts nothing passes as soon as the code no longer raises."""
    for file in facts.deciding_files:
        helpers: dict[str, list[FoundFunction]] = {}
        for function in file.functions.values():
            helpers.setdefault(function.node.name, []).append(function)
        for name, function in file.deciding:
            if function.looks_like_a_test and not _asserts(function, helpers):
                what = "asserts nothing: any code that raises no error passes it"
                yield warning(f"{file.path}::{name}", what)


def touches_configuration(facts: TaskFacts) -> Iterator[RuleHit]:
    """Protected files are not taken from a fix, and an agent cannot see hidden configuration."""
    key = facts.task.answer_key
    runner = runner_of(parse_test_command(facts.task.problem.test_command))
    protection = ProtectionRules(
        test_paths=facts.task.problem.test_paths,
        patterns=key.protected,
        hidden=frozenset(facts.hidden),
        runner=runner,
    )
    for dropped in _dropped(facts, facts.fixed, protection):
        what = f"solution.patch changes an unjudged file ({dropped.why})"
        yield info(dropped.path, what)
    nothing = ProtectionRules(test_paths=(), patterns=(), hidden=frozenset(), runner=runner)
    for dropped in _dropped(facts, facts.hidden, nothing):
        what = f"tests.patch changes it ({dropped.why}): hidden tests run unlike the visible ones"
        yield info(dropped.path, what)


def no_solution(facts: TaskFacts) -> Iterator[RuleHit]:
    """Without a reference fix, it is unknown whether the task can be solved."""
    if not facts.task.answer_key.solution_patch.strip():
        what = "is missing: the task cannot be validated and its controls cannot be calibrated"
        yield info("solution.patch", what)


def not_read(facts: TaskFacts) -> Iterator[RuleHit]:
    """Unreadable content was not audited, so a lack of findings about it proves nothing."""
    for why in facts.unread:
        yield info("the base tree", why)


def controlled_functions(facts: TaskFacts) -> Mapping[str, str | None]:
    """Every fail_to_pass function, and why nothing in it can be changed; else `None`."""
    reasons: dict[str, str | None] = {}
    for file in facts.deciding_files:
        if file.listed:
            known = _uncontrolled_reasons(file)
            reasons |= {f"{file.path}::{name}": why for name, why in known.items()}
    return reasons


def _uncontrolled_reasons(file: DecidingTestFile) -> Mapping[str, str | None]:
    try:
        known = uncontrolled_reasons(file.source, file.path)
        named = functions_by_tests(file.source, file.path, file.listed)
    except InputError:
        return dict.fromkeys(file.listed_functions, _NOT_PYTHON)
    return {name: known.get(name, _NOT_DEFINED) for name in named}


def _asserts(function: FoundFunction, helpers: Mapping[str, list[FoundFunction]]) -> bool:
    """Whether a function asserts, by itself or by a function of its file that it calls."""
    waiting, visited_names = [function], {function.name}
    while waiting:
        for node in ast.walk(waiting.pop().node):
            if isinstance(node, ast.Assert | ast.Raise):
                return True
            if isinstance(node, ast.Call):
                name = name_of(node.func)
                if name.lower().lstrip("_").startswith(_ASSERTING) or "assert" in name.lower():
                    return True
                new = [
                    helper for helper in helpers.get(name, []) if helper.name not in visited_names
                ]
                visited_names.update(helper.name for helper in new)
                waiting += new
    return False


def _dropped(
    facts: TaskFacts, files: FilesByPath, protection: ProtectionRules
) -> tuple[DroppedPath, ...]:
    tree = dict.fromkeys(facts.base.blobs, TreeEntry(kind=EntryKind.FILE))
    change = WorkspaceChange(files=dict(files))
    return protect(change, protection, tree, facts.base.contents.get).dropped
