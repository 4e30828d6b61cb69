"""Measures whether hidden tests reject right fixes: runs them on variants of the reference."""

import ast
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import PurePosixPath
from threading import Event

from agentbench.attempt import judged_tests
from agentbench.attempt.context import PreparedContext
from agentbench.attempt.expected_tests import expected_tests
from agentbench.attempt.stages.baseline_run import baseline_run
from agentbench.audit.audit import TASK_RULES
from agentbench.audit.rule import apply_rules
from agentbench.audit.task_facts import TaskFacts, read_task_facts
from agentbench.audit.unstated import new_names
from agentbench.core.files import FileContent
from agentbench.errors import AttemptError, InputError, UnavailableError
from agentbench.extensions.test_quality.equal_variants import equal_variants
from agentbench.extensions.test_quality.fix_parts import partial_variants, words_of
from agentbench.extensions.test_quality.fix_variants import (
    GivenText,
    Variant,
    apply_variants,
    groups_of,
)
from agentbench.extensions.test_quality.instruction_examples import (
    LONGEST_EXAMPLES,
    ExampleOutcome,
    examples_in,
    prose_of,
    run_examples,
)
from agentbench.extensions.test_quality.mutants import FixedFile
from agentbench.extensions.test_quality.mutation_measurement import (
    fixed_files,
    prepared_context,
    reference_change,
    run_change,
    why_no_mutants,
)
from agentbench.extensions.test_quality.stronger_tests import time_limit
from agentbench.integrity.protection import JudgedChange
from agentbench.python_source import python_syntax
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import SandboxProvider
from agentbench.scoring.evidence import CaseOutcome, Finding, NodeId, Severity
from agentbench.scoring.expectation import passed_tests, resolve_expectation, with_node_ids
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from agentbench.validation.fairness_results import (
    Fairness,
    VariantKind,
    VariantOutcome,
    VariantResult,
)
from agentbench.validation.task_quality import UNSTATED_RULES

BEYOND = "beyond-instruction"
"""The rule of the findings in `Fairness.beyond`."""
_LEAST_CODE = 8  # characters of a value that an instruction has not by chance
_MOST_PARTS = 12  # of a fix that are left out, one after the other
_LONGEST_ASSERTION = 300  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessSettings:
    """The settings for measuring fairness."""

    options: RunOptions
    within: timedelta
    """For each task; what is not tried until then is named."""
    cancel: Event


def measure_fairness(task: Task, settings: FairnessSettings, provider: SandboxProvider) -> Fairness:
    """Measure one task; a task that cannot be measured says why.

    Raises:
        RunCancelled: `settings.cancel` was set.
    """
    began = time.monotonic()
    facts = read_task_facts(task, Mirrors(settings.options.cache_dir / "mirrors"))
    rules = {name: rule for name, rule in TASK_RULES.items() if name in UNSTATED_RULES}
    unstated = apply_rules(rules, facts)
    why_not = why_no_mutants(task)
    if not why_not:
        try:
            prepared = prepared_context(task, settings.options, provider, settings.cancel)
            with prepared as (context, _):
                measured = _Measurement.of(context, facts, began + settings.within.total_seconds())
                result = measured if isinstance(measured, str) else measured.result()
        except (AttemptError, InputError, UnavailableError) as error:
            result = str(error)
        if isinstance(result, Fairness):
            seconds = round(time.monotonic() - began, 1)
            return result.replace(unstated=unstated, sandbox=provider.name, seconds=seconds)
        why_not = result
    return Fairness(why_not=why_not, unstated=unstated, sandbox=provider.name)


@dataclass(slots=True, kw_only=True)
class _Measurement:
    context: PreparedContext
    limit: timedelta  # of a run on a variant, which may have no end
    reference: JudgedChange
    files: tuple[FixedFile, ...]
    given: GivenText
    deadline: float  # of `time.monotonic`
    fixed: frozenset[NodeId]  # the tests that the reference makes pass
    kept: frozenset[NodeId]  # that pass before and after
    pieces: tuple[str, ...]
    modules: tuple[str, ...]  # in which the examples' names are looked up
    test_code: Mapping[str, frozenset[str]]  # the values and calls of each deciding test
    shown: tuple[ExampleOutcome, ...] = ()  # of the examples, with the reference
    example_limit: timedelta = LONGEST_EXAMPLES  # of the examples on a variant
    showing: int = 0  # how many of them the base answers otherwise
    _own: frozenset[NodeId] | None = None
    results: list[VariantResult] = field(default_factory=list)

    @classmethod
    def of(
        cls, context: PreparedContext, facts: TaskFacts, deadline: float
    ) -> "_Measurement | str":
        reference = reference_change(context)
        files = tuple(
            replace(file, in_package=_in_package(context, file.path))
            for file in fixed_files(reference, context.prepared)
        )
        if not files:
            return "the reference solution has nothing to change in Python"
        baseline = baseline_run(context).evidence
        limit = judged_tests.judged_timeout(context)
        ran = run_change(context, reference, limit=limit, stop=False)
        expected = with_node_ids(expected_tests(context.task), baseline, ran.evidence)
        expectation = resolve_expectation(expected, baseline)
        before, after = passed_tests(baseline), passed_tests(ran.evidence)
        fixed = after & set(expectation.fail_to_pass) or after - before
        if not fixed:
            return "the reference solution makes no test pass, or a script judges the task"
        measurement = cls(
            context=context,
            limit=time_limit(context, ran.took),
            reference=reference,
            files=files,
            given=GivenText(
                instruction=facts.task.problem.instruction,
                new_names=frozenset(name for name, _, guess in new_names(facts) if not guess),
                called=frozenset(_called_in_tests(facts)).difference(*map(_defined_before, files)),
                shows_output=any(
                    len(text.split()) > 1 and text.strip() in facts.task.problem.instruction
                    for text in _texts_of_tests(facts)
                ),
            ),
            deadline=deadline,
            fixed=fixed,
            kept=after & set(expectation.pass_to_pass) or after & before,
            pieces=examples_in(facts.task.problem.instruction),
            modules=_modules(files),
            test_code=_code_of_tests(facts),
        )
        measurement._show_examples()
        return measurement

    def result(self) -> Fairness:
        equals = list(equal_variants(self.files, self.given))
        parts = list(partial_variants(self.files))
        tried = parts[:_MOST_PARTS] if self.showing else []
        # Most tests reject nothing, so that one run answers for a whole group.
        left = [one for group in groups_of(equals) for one in self._search(group)]
        left += [part for part in tried if not self._judge_part(part)]
        not_tried = [f"{len(left)} variants not tried: the time was used up"] if left else []
        if len(tried) < len(parts):
            why = f"at most {_MOST_PARTS} are" if tried else "no example shows the bug"
            not_tried.append(f"{len(parts) - len(tried)} parts of the fix not left out: {why}")
        return Fairness(
            beyond=tuple(self._beyond()),
            variants=tuple(self.results),
            examples=self.showing,
            made=len(equals) + len(parts),
            not_tried="; ".join(not_tried),
        )

    def _beyond(self) -> Iterator[Finding]:
        """The tests whose failure before the fix has no word of the instruction: weak evidence."""
        if time.monotonic() > self.deadline:
            return
        nothing = replace(self.reference, files={}, emptied=())
        limit = judged_tests.judged_timeout(self.context)
        ran = run_change(self.context, nothing, limit=limit, stop=False)
        asked = words_of(self.given.instruction)
        for node_id in sorted(self.fixed - passed_tests(ran.evidence)):
            message = " ".join(ran.message_of(node_id).split())
            words = words_of(node_id, message)
            if message and not words & asked:
                what = "fails before the fix in a way of which the instruction has no word: "
                text = f"{what}{message[:_LONGEST_ASSERTION]}"
                yield Finding(rule=BEYOND, severity=Severity.INFO, where=node_id, what=text)

    def _search(self, group: Sequence[Variant]) -> list[Variant]:
        """Judge variants together, and in halves if the tests reject one; returns those left."""
        if time.monotonic() > self.deadline:
            return list(group)
        contents = apply_variants(self.files, group)
        failed = self._failures(contents)
        if isinstance(failed, dict) and not failed:
            for one in group:
                self._add(one, VariantOutcome.ACCEPTED)
            return []
        if len(group) > 1:
            half = len(group) // 2
            return [*self._search(group[:half]), *self._search(group[half:])]
        self._classify(group[0], contents, failed)
        return []

    def _classify(
        self,
        variant: Variant,
        contents: Mapping[PurePosixPath, bytes],
        failed: "Mapping[NodeId, str] | str",
    ) -> None:
        if isinstance(failed, str):
            self._add(variant, VariantOutcome.NOT_JUDGED, detail=failed)
            return
        # Not the deciding tests that passed before: a file of hidden tests that cannot import a
        # name takes all of its tests with it.
        if broken := self._own_failures(contents):
            detail = f"{min(broken)}, a test of the project, fails"
            self._add(variant, VariantOutcome.NOT_EQUAL, detail=detail)
        elif why := self._other_example(contents, is_exact=variant.kind is VariantKind.PART):
            self._add(variant, VariantOutcome.NOT_EQUAL, detail=why)
        else:
            self._add_rejected(variant, failed)

    def _judge_part(self, part: Variant) -> bool:
        """Judge the fix without a part; False: there is no time left."""
        if time.monotonic() > self.deadline:
            return False
        # Whether the instruction asks for the part comes first: it takes a fraction of a test run.
        contents = apply_variants(self.files, [part])
        why = self._asked(part.subject) or self._other_example(contents, is_exact=True)
        failed = {} if why else self._failures(contents)
        if isinstance(failed, dict) and failed:
            passing = self.fixed - set(failed)
            broken = self.kept & set(failed)
            subject = part.subject | (_words_of_tests(failed) - _words_of_tests(passing))
            if broken:
                why = f"{min(broken)} passed before the fix, and fails"
            elif not subject:
                why = "no name tells what the part is about"
            elif part.is_detail and not passing:
                why = "all deciding tests need it"
            else:
                why = self._asked(subject) or self._stated_code(failed, passing)
        if why:
            self._add(part, VariantOutcome.NOT_EQUAL, detail=why)
        elif isinstance(failed, dict) and not failed:
            self._add(part, VariantOutcome.ACCEPTED)
        else:
            self._classify(part, contents, failed)
        return True

    def _add_rejected(self, variant: Variant, failed: Mapping[NodeId, str]) -> None:
        rejected_by = tuple(sorted(failed, key=lambda one: (one not in self.fixed, one)))
        assertion = " ".join(failed[rejected_by[0]].split())[:_LONGEST_ASSERTION]
        self._add(variant, VariantOutcome.REJECTED, rejected_by=rejected_by, assertion=assertion)

    def _add(self, variant: Variant, outcome: VariantOutcome, **more: object) -> None:
        self.results.append(
            VariantResult.model_validate(
                {"kind": variant.kind, "change": variant.change, "outcome": outcome, **more}
            )
        )

    def _change(self, contents: Mapping[PurePosixPath, bytes]) -> JudgedChange:
        files = dict(self.reference.files)
        for path, content in contents.items():
            own = files.get(path)
            executable = own is not None and own.executable
            files[path] = FileContent(content=content, executable=executable)
        return replace(self.reference, files=files)

    def _failures(self, contents: Mapping[PurePosixPath, bytes]) -> dict[NodeId, str] | str:
        """The deciding tests that do not pass, with their messages; or why they did not run."""
        change = self._change(contents)
        try:
            ran = run_change(self.context, change, limit=self.limit, stop=False)
        except (AttemptError, UnavailableError) as error:
            return str(error)
        passed = passed_tests(ran.evidence)
        failed = (self.fixed | self.kept) - passed
        return {node_id: ran.message_of(node_id) for node_id in failed}

    def _own_failures(self, contents: Mapping[PurePosixPath, bytes]) -> frozenset[NodeId]:
        """The project's own tests that pass with the reference and not with a variant."""
        if self._own is None:
            self._own = self._own_passed(self.reference)
        return self._own - self._own_passed(self._change(contents))

    def _own_passed(self, change: JudgedChange) -> frozenset[NodeId]:
        request = replace(judged_tests.judged_request(self.context), timeout=self.limit)
        run = judged_tests.run_judged_tests(
            self.context, change.files, emptied=change.emptied, request=request
        )
        cases = run.tests.facts.cases
        return frozenset(case.node_id for case in cases if case.outcome is CaseOutcome.PASSED)

    def _show_examples(self) -> None:
        if not self.pieces:
            return
        ran = run_examples(self.context, self.pieces, self.modules, self.reference.files)
        self.shown = ran.outcomes
        self.example_limit = min(time_limit(self.context, ran.took), LONGEST_EXAMPLES)
        pairs = zip(self._outcomes({}), self.shown, strict=False)
        self.showing = sum(
            not one.equals(other) and one.is_known and other.is_known for one, other in pairs
        )

    def _outcomes(
        self, files: Mapping[PurePosixPath, FileContent | None]
    ) -> tuple[ExampleOutcome, ...]:
        limit = self.example_limit
        return run_examples(self.context, self.pieces, self.modules, files, limit).outcomes

    def _asked(self, subject: frozenset[str]) -> str:
        """Why the sentences of the instruction may ask for a part; empty: they do not."""
        shared = subject & words_of(prose_of(self.given.instruction))
        return f"the instruction speaks of it: {', '.join(sorted(shared))}" if shared else ""

    def _stated_code(self, failing: Iterable[NodeId], passing: Iterable[NodeId]) -> str:
        """Why the instruction may ask for what tests do in code that does not run by itself."""
        instruction = _one_form(self.given.instruction)
        others = {piece for node_id in passing for piece in self.test_code.get(_bare(node_id), ())}
        for node_id in failing:
            for piece in sorted(self.test_code.get(_bare(node_id), ())):
                if piece not in others and piece in instruction:
                    return f"the instruction has {piece} of {node_id}"
        return ""

    def _other_example(self, contents: Mapping[PurePosixPath, bytes], *, is_exact: bool) -> str:
        """Why a variant is not equal on the examples; empty: they do not tell.

        Unless it is exact, the text of a value that the instruction does not show is open.
        """
        if not self.shown:
            return ""
        outcomes = self._outcomes(self._change(contents).files)
        cut = [self.pieces[len(outcomes)]] if len(outcomes) < len(self.shown) else []
        others = (
            piece
            for piece, one, other in zip(self.pieces, outcomes, self.shown, strict=False)
            if not one.equals(other)
            and (is_exact or not (one.is_value and other.is_value) or self.given.says(other.text))
        )
        other = next(iter([*others, *cut]), None)
        return "" if other is None else f"another outcome of the instruction's example {other!r}"


def _defined_before(file: FixedFile) -> frozenset[str]:
    try:
        tree = python_syntax.parse(file.before)
    except python_syntax.UNPARSABLE:
        return frozenset()
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def _called_in_tests(facts: TaskFacts) -> Iterator[str]:
    for file in facts.deciding_files:
        # By helpers of the file, too.
        for node in ast.walk(python_syntax.parse(file.source)) if file.functions else ():
            if isinstance(node, ast.Call):
                yield python_syntax.name_of(node.func)


def _texts_of_tests(facts: TaskFacts) -> Iterator[str]:
    for file in facts.deciding_files:
        for _, function in file.deciding:
            for node in ast.walk(function.node):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def _code_of_tests(facts: TaskFacts) -> dict[str, frozenset[str]]:
    """The values and calls in each deciding test, by its id without parameters."""
    kinds = (ast.Call, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.Constant)
    return {
        f"{file.path}::{name}": frozenset(
            text
            for node in ast.walk(function.node)
            if isinstance(node, kinds) and len(text := _one_form(ast.unparse(node))) >= _LEAST_CODE
        )
        for file in facts.deciding_files
        for name, function in file.deciding
    }


def _one_form(code: str) -> str:
    """Code without white space and with one kind of quotation mark."""
    return "".join(code.replace('"', "'").split())


def _bare(node_id: NodeId) -> str:
    return node_id.partition("[")[0]


def _words_of_tests(node_ids: Iterable[NodeId]) -> frozenset[str]:
    names = (node_id.rpartition("::")[2].partition("[")[0] for node_id in node_ids)
    return words_of(*(name.removeprefix("test") for name in names))


def _in_package(context: PreparedContext, path: PurePosixPath) -> bool:
    return context.prepared.content(path.with_name("__init__.py")) is not None


def _modules(files: Iterable[FixedFile]) -> tuple[str, ...]:
    """The top packages of the fixed modules, and these modules."""
    inner = [file.path.parts[file.path.parts[0] == "src" :] for file in files]
    packages = [PurePosixPath(parts[0]).stem for parts in inner]
    modules = [".".join(PurePosixPath(*parts).with_suffix("").parts) for parts in inner]
    return tuple(dict.fromkeys([*packages, *(name.removesuffix(".__init__") for name in modules)]))
