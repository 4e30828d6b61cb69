"""Why an attempt failed, in words: derived from its record and its files.

`agentbench show` and the attempt's web page open with it.
"""

import signal
from dataclasses import dataclass, field
from functools import cached_property

from agentbench.attempt.record import AttemptRecord, StageRecord
from agentbench.core.display_text import counted, list_with_more, one_line
from agentbench.errors import RunCancelled
from agentbench.integrity.finding_rules import ControlRule
from agentbench.report.attempt_files import AttemptFiles, StoredReport
from agentbench.report.failed_test import FailedTest, describe_test, failing_tests
from agentbench.report.patch_lines import TouchedLines, touched_lines
from agentbench.scoring.classification import stated_error
from agentbench.scoring.evidence import (
    FAILING_OUTCOMES,
    AgentEnding,
    CaseOutcome,
    CollectionFact,
    CommandResult,
    Ending,
    PytestOutcome,
    Severity,
)
from agentbench.scoring.expectation import reported_cases
from agentbench.taxonomy import FailureReason, StageName
from agentbench.test_runs.fallback import collection_fact

_AGENT = StageName.AGENT_RUN
_OUTPUT_LINES = 6
_MAX_NAMED = 3
_MAX_TEXT = 400  # characters of a message
_MAX_COMMAND = 160
_SUBJECTS = {
    StageName.GIT_CLONE: "The clone",
    StageName.GIT_CHECKOUT: "The checkout",
    StageName.SETUP: "The set-up command",
    StageName.BASELINE_RUN: "The test run before the agent",
    StageName.AGENT_RUN: "The agent",
    StageName.FINAL_TEST: "The test run",
}
_AGENT_ENDINGS = {
    AgentEnding.SUBMITTED: "The agent failed",
    AgentEnding.STEP_LIMIT: "The agent stopped at its step limit",
    AgentEnding.COST_LIMIT: "The agent stopped at its cost limit",
    AgentEnding.TIME_LIMIT: "The agent ran out of time",
    AgentEnding.LLM_ERROR: "The agent's model failed",
    AgentEnding.TOOL_ERROR: "The agent failed",
    AgentEnding.CRASHED: "The agent crashed",
    AgentEnding.INTERRUPTED: "The agent was interrupted",
}
# The beginning of the sentence on an exception: one of the sandbox is no failed clone.
_RAISED = {
    FailureReason.SETUP_FAILED: "The set-up failed",
    FailureReason.SETUP_TIMEOUT: "The set-up ran out of time",
    FailureReason.GIT_CLONE_FAILED: "The clone failed",
    FailureReason.GIT_CHECKOUT_FAILED: "The checkout failed",
    FailureReason.LLM_ERROR: "The agent's model failed",
    FailureReason.TOOL_ERROR: "A tool of the agent failed",
    FailureReason.INTERRUPTED: "The agent was interrupted",
}
_PYTEST_FAULTS = frozenset({PytestOutcome.PYTEST_INTERNAL, PytestOutcome.USAGE})


_CHEATS = {
    ControlRule.PASSED: "the code makes tests pass that expect wrong values",
    ControlRule.SEALED: "the code gave other values when the expected ones were hidden",
    ControlRule.DIFFERED: "other tests did not end as they had to in a control run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """Why an attempt failed: one or two sentences, and the facts behind them."""

    summary: str
    test: FailedTest | None = None
    touched: TouchedLines = field(default_factory=TouchedLines)
    output: tuple[str, ...] = ()  # the last lines of the stage that failed
    notes: tuple[str, ...] = ()  # further sentences


def find_cause(record: AttemptRecord, files: AttemptFiles) -> FailureCause | None:
    """Why an attempt failed; None if it is resolved."""
    if record.resolved:
        return None
    if record.quarantined:
        return FailureCause(summary=quarantine_text(record))
    return _Investigation(record, files).cause()


def quarantine_text(record: AttemptRecord) -> str:
    """Why an attempt is quarantined, in two sentences."""
    found = next((one for one in record.findings if one.severity is Severity.CRITICAL), None)
    what = record.detail.removeprefix("quarantined: ")
    if found is not None and found.rule in set(ControlRule):
        what = f"{_CHEATS[ControlRule(found.rule)]}: {found.what}"
    final = (
        # The evidence of the stage is then the sealed run's.
        "There was no final test, since the code gave wrong values in the sealed run"
        if failing_tests(record)
        else "The final test passed, but does not count"
    )
    return f"{_sentence(one_line(f'Quarantined: {what}', limit=2 * _MAX_TEXT))} {final}."


class _Investigation:
    def __init__(self, record: AttemptRecord, files: AttemptFiles) -> None:
        self._record = record
        self._files = files
        reason = record.failure_reason
        primary = next((f for f in record.failures if f.terminal and f.reason is reason), None)
        stages = {stage.name: stage for stage in record.stages}
        self._stage = stages.get(primary.stage) if primary is not None else None

    @cached_property
    def _report(self) -> StoredReport:
        return self._files.final_report()

    def cause(self) -> FailureCause:
        stage = self._stage
        if stage is None:
            return FailureCause(summary=_sentence(self._detail))
        if stage.evidence.exception is not None:
            return self._by_exception(stage)
        if stage.name is StageName.FINAL_TEST and not stage.evidence.failed_before_tests:
            return self._of_final_test(stage)
        if stage.name is StageName.BASELINE_RUN:
            return self._of_baseline(stage)
        # A limit or a lost sandbox ended the agent's command, which the agent itself cannot know.
        decisive = {FailureReason.SANDBOX_ERROR, FailureReason.TIMEOUT}
        was_cut_off = stage.ending not in {None, Ending.EXITED}
        command_decides = self._record.failure_reason in decisive and was_cut_off
        if stage.evidence.agent is not None and not command_decides:
            return self._by_agent(stage, stage.evidence.agent)
        return self._by_command(stage)

    @property
    def _detail(self) -> str:
        reason = self._record.failure_reason
        return self._record.detail or (reason.description if reason is not None else "")

    def _by_exception(self, stage: StageRecord) -> FailureCause:
        exception = stage.evidence.exception
        assert exception is not None
        reason, during = exception.reason, f"during {_words(stage.name)}"
        # Records of former releases name the class.
        is_ours = exception.type_name in {"", RunCancelled.__name__}
        is_ours = is_ours and reason is FailureReason.INTERRUPTED
        if is_ours or (reason is FailureReason.INTERRUPTED and stage.name is not _AGENT):
            return FailureCause(summary=f"The run was cancelled {during}.")
        text = one_line(exception.message, limit=_MAX_TEXT)
        where = f" ({exception.where})" if exception.where else ""
        sandbox = f"The sandbox failed {during}"
        begins = sandbox if reason is FailureReason.SANDBOX_ERROR else _RAISED.get(reason)
        is_late = reason is FailureReason.TIMEOUT
        how = "ran out of time" if is_late else "raised an error"
        begins = begins or f"{_SUBJECTS[stage.name]} {how}"
        named = ": ".join(filter(None, (exception.type_name, text)))
        # Of a fault that the stage itself found, the message is a sentence of its own.
        is_sentence = not exception.type_name and text[:1].isupper()
        summary = f"{begins}: {named}{where}" if named and not is_sentence else (text or begins)
        # The last lines of a log often repeat the exception.
        known = " ".join(exception.message.split())
        known = f"{exception.type_name}: {known}" if exception.type_name else known
        output = [line for line in self._tail(stage) if " ".join(line.split()) not in known]
        return FailureCause(
            summary=_sentence(summary), output=tuple(output), notes=self._agent_notes(stage)
        )

    def _of_baseline(self, stage: StageRecord) -> FailureCause:
        if self._record.failure_reason is FailureReason.NO_TESTS_COLLECTED:
            return FailureCause(summary=_sentence(self._detail), output=self._tail(stage))
        if self._record.failure_reason is not FailureReason.BASELINE_NOT_FAILING:
            return self._by_command(stage)
        to_fix = [test for test in self._record.tests if test.listed == "fail_to_pass"]
        passed = [test.node_id for test in to_fix if test.baseline is CaseOutcome.PASSED]
        cases = reported_cases(stage.evidence)
        # Without listed tests, the whole run decides.
        passed = passed or [case.node_id for case in cases if case.outcome is CaseOutcome.PASSED]
        summary = f"The task has no bug to fix: {self._detail}."
        notes = (f"Passing: {list_with_more(passed, _MAX_NAMED)}.",) if passed else ()
        return FailureCause(summary=summary, notes=notes)

    def _by_agent(self, stage: StageRecord, ending: AgentEnding) -> FailureCause:
        detail = stage.evidence.agent_detail or self._detail
        summary = f"{_AGENT_ENDINGS[ending]}: {detail}"
        usage = self._record.usage
        errors = usage.llm_errors.items() if usage is not None else ()
        unanswered = [f"{kind} x{count}" for kind, count in sorted(errors)]
        notes = (f"Requests without an answer: {', '.join(unanswered)}.",) if unanswered else ()
        return FailureCause(
            summary=_sentence(one_line(summary, limit=_MAX_TEXT)),
            output=self._tail(stage),
            notes=(*notes, *self._agent_notes(stage)),
        )

    def _by_command(self, stage: StageRecord) -> FailureCause:
        command = stage.evidence.command
        summary = self._command_sentence(stage, command) if command is not None else self._detail
        return FailureCause(
            summary=_sentence(summary), output=self._tail(stage), notes=self._agent_notes(stage)
        )

    def _command_sentence(self, stage: StageRecord, command: CommandResult) -> str:
        subject = _SUBJECTS[stage.name]
        if stage.evidence.failed_before_tests:
            subject = "The command before the tests"
        # The user wrote the script, not the shell that runs it.
        is_script = command.argv[:2] == ("sh", "-c") and len(command.argv) == 3
        text = command.argv[2] if is_script else " ".join(command.argv)
        line = f"`{one_line(text, limit=_MAX_COMMAND)}`"
        match command.ending:
            case Ending.TIMED_OUT:
                limit = command.timeout.total_seconds() if command.timeout else stage.timeout_s
                if stage.name is _AGENT:
                    # The command's own limit is what earlier commands of the agent have left of it.
                    limit = stage.timeout_s
                after = f"its limit of {round(limit, 1):g} s" if limit is not None else "its limit"
                shown = "" if stage.name is StageName.FINAL_TEST else f": {line}"
                return f"{subject} was still running at {after}{shown}"
            case Ending.OUT_OF_MEMORY:
                limit_mib = stage.evidence.memory_limit_mib
                limit_text = f"; the limit is {limit_mib} MiB" if limit_mib is not None else ""
                return f"{subject} ran out of memory{limit_text}"
            case Ending.OUT_OF_DISK:
                return f"{subject} exceeded the disk limit of {command.exceeded or 'its sandbox'}"
            case Ending.LOST:
                return f"The sandbox or its engine went away during {_words(stage.name)}"
            case Ending.KILLED:
                number = command.signal
                if number is None:
                    return f"{subject} was killed by an unknown signal"
                # A real-time signal has a number, but no name.
                known = number in set(signal.Signals)
                name = f" ({signal.Signals(number).name})" if known else ""
                return f"{subject} was killed by signal {number}{name}"
            case Ending.EXITED:
                return f"{subject} exited with code {command.exit_code}: {line}"

    def _tail(self, stage: StageRecord) -> tuple[str, ...]:
        """The last lines of a stage's output, from its log or its command."""
        tail = self._files.log_tail(stage.name, _OUTPUT_LINES)
        command = stage.evidence.command
        if tail or command is None:
            return tail
        lines = (command.stderr.strip() or command.stdout.strip()).splitlines()
        return tuple(lines[-_OUTPUT_LINES:])

    def _agent_notes(self, stage: StageRecord) -> tuple[str, ...]:
        """The result of the agent's change, if the stage was the agent's."""
        if stage.name is not _AGENT:
            return ()
        final = [f for f in self._record.failures if f.stage is StageName.FINAL_TEST]
        tests = tuple(_sentence(f"The final test failed, too: {f.detail}") for f in final[:1])
        return (*self._patch_notes(), *tests)

    def _patch_notes(self) -> tuple[str, ...]:
        patch = self._record.patch
        if patch is None or patch.files:
            return ()
        dropped = [f"{each.path} ({each.why})" for each in patch.dropped]
        if dropped:
            names = list_with_more(dropped, _MAX_NAMED)
            return (f"The agent changed only files that are not judged: {names}.",)
        return ("The agent changed no file.",)

    def _of_final_test(self, stage: StageRecord) -> FailureCause:
        report = stage.evidence.report
        if report is not None and report.collection_errors:
            return self._by_collection_error(stage)
        match self._record.failure_reason:
            case FailureReason.TESTS_FAILED:
                return self._by_tests(stage)
            case FailureReason.INTERNAL_ERROR:
                return self._by_pytest(stage)
            case FailureReason.INTERRUPTED:
                # pytest may name nothing but the kind of the interrupt.
                what = one_line(self._report.detail or self._detail, limit=_MAX_TEXT)
                summary = f"The code under test interrupted pytest: {what}"
                traceback = self._report.text_output
            case FailureReason.NO_TESTS_COLLECTED:
                deciding = [test.node_id for test in self._record.tests if test.listed]
                missing = f"Not found: {list_with_more(deciding, _MAX_NAMED)}." if deciding else ""
                return FailureCause(
                    summary="No tests were collected from the files of the tests to fix.",
                    touched=self._touched(""),
                    output=self._tail(stage),
                    notes=(*([missing] if missing else ()), *self._patch_notes()),
                )
            case _:
                # The process of the tests ended: by a limit, a signal, or its own exit.
                ended = stage.evidence.command
                summary = self._command_sentence(stage, ended) if ended else self._detail
                traceback = ended.stderr if ended is not None else ""
        return FailureCause(
            summary=_sentence(f"{summary}{self._unfinished(stage)}"),
            touched=self._touched(traceback),
            notes=self._patch_notes(),
        )

    def _by_tests(self, stage: StageRecord) -> FailureCause:
        if stage.evidence.rewards is not None:
            return self._by_rewards(stage)
        failing = failing_tests(self._record)
        if not failing:
            notes = self._patch_notes()
            return FailureCause(
                summary=_sentence(self._detail), output=self._tail(stage), notes=notes
            )
        test = describe_test(failing[0], self._record, self._report)
        more = len(failing) - 1
        others = f"{counted(more, 'more deciding test')} did not pass." if more else ""
        return FailureCause(
            summary=f"{test.node_id} {test.what}.",
            test=test,
            touched=self._touched(test.traceback),
            notes=(*([others] if others else ()), *self._patch_notes()),
        )

    def _by_rewards(self, stage: StageRecord) -> FailureCause:
        is_judged = self._record.failure_reason is FailureReason.TESTS_FAILED
        what = "did not accept the change" if is_judged else "gave no result"
        summary = f"The task's own script {what}: {self._detail}"
        rewards = stage.evidence.rewards
        tests = rewards.tests if rewards is not None else ()
        failed = [test for test in tests if test.outcome in FAILING_OUTCOMES]
        told = []
        if failed:
            first = failed[0]
            because = f": {first.message}" if first.message else ""
            more = f", and {counted(len(failed) - 1, 'more test')}" if len(failed) > 1 else ""
            told.append(_sentence(f"By its report {first.node_id} failed{because}{more}"))
        return FailureCause(
            summary=_sentence(summary),
            output=self._tail(stage),
            notes=(*told, *self._patch_notes()),
        )

    def _by_collection_error(self, stage: StageRecord) -> FailureCause:
        report = stage.evidence.report
        assert report is not None
        facts, errors = report.collection_facts, self._report.collection_errors
        # The detail names the file that decided; others may have failed in the baseline as well.
        paths = [(one.path or one.file, one) for one in facts]
        named = (one for path, one in paths if path and path in self._detail)
        fact = next(named, None) or next(iter(facts), None)
        if fact is None:
            return FailureCause(summary=_sentence(self._detail), output=self._tail(stage))
        traceback = next((one.traceback for one in errors if one.file == fact.file), "")
        more = len(report.collection_errors) - 1
        notes = [f"{counted(more, 'more file')} cannot be collected."] if more else []
        if "baseline has the same error" in self._detail:
            notes.append("The baseline has the same error, so the task is at fault.")
        return FailureCause(
            summary=f"{fact.file} cannot be collected: {_fact_text(fact)}",
            touched=self._touched(f"{traceback}\n{fact.path}:{fact.line}:"),
            notes=(*notes, *self._patch_notes()),
        )

    def _by_pytest(self, stage: StageRecord) -> FailureCause:
        """pytest, or a script that judges, ended without a result."""
        report, rewards = stage.evidence.report, stage.evidence.rewards
        if rewards is not None or report is None:
            return self._by_rewards(stage) if rewards is not None else self._by_command(stage)
        traceback = self._report.detail or ""
        # pytest marks each line of its own traceback, in which the error is found without marks.
        output_lines = self._report.text_output.splitlines()
        text = traceback or "\n".join(li.removeprefix("INTERNALERROR> ") for li in output_lines)
        root = next((li[9:] for li in text.splitlines() if li.startswith("rootdir: ")), "")
        error = collection_fact("", "", text, root or "/workspace")
        if report.outcome is PytestOutcome.SPAWN:
            summary = f"pytest could not start: {self._report.spawn_error or self._detail}"
        elif report.outcome in _PYTEST_FAULTS and error.error:
            is_usage = report.outcome is PytestOutcome.USAGE
            how = "refused to start" if is_usage else "ended with an internal error"
            command = stage.evidence.command
            stated = stated_error(command) if is_usage and command is not None else ""
            summary = f"pytest {how}: {stated or _fact_text(error)}"
        elif stage.ending is Ending.EXITED and not report.complete:
            summary = (
                f"The code under test ended pytest before its report was complete (exit code "
                f"{stage.exit_code}){self._unfinished(stage)}"
            )
        else:
            summary = self._detail
        output = () if error.error else self._tail(stage)
        touched = self._touched(traceback or self._report.text_output)
        return FailureCause(
            summary=_sentence(summary), output=output, touched=touched, notes=self._patch_notes()
        )

    def _unfinished(self, stage: StageRecord) -> str:
        """The test that ran when the run ended, as the end of a sentence."""
        cases = reported_cases(stage.evidence)
        running = [c.node_id for c in cases if c.outcome is CaseOutcome.UNFINISHED]
        return f", in {running[-1]}" if running else ""

    def _touched(self, traceback: str) -> TouchedLines:
        return touched_lines(self._files.patch(), traceback)


def _words(stage: StageName) -> str:
    return stage.replace("_", " ")


def _fact_text(fact: CollectionFact) -> str:
    line = f":{fact.line}" if fact.line is not None else ""
    place = f"{fact.path}{line}" if fact.path else ""
    message = f": {fact.message}" if fact.message else ""
    return f"{fact.error or 'an error'}{f' in {place}' if place else ''}{message}"


def _sentence(text: str) -> str:
    """A text as a sentence: with a capital unless it begins with a name, and with a full stop."""
    begins = text.split(" ", 1)[0]
    capital = text[:1].upper() + text[1:] if begins.isalpha() and begins != "pytest" else text
    return capital if capital.endswith((".", "!", "?", "…")) else f"{capital}."
