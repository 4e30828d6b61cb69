"""Renders the failure taxonomy: docs/failure_taxonomy.md and `agentbench explain`.

`python -m agentbench.report.taxonomy_page` prints the page: failure_taxonomy.md with its tables.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template

from agentbench.integrity.finding_rules import ChangeRule, ControlRule
from agentbench.taxonomy import FailureReason, Fault, StageName
from agentbench.test_runs.runners import REPORTS

_MEANINGS = {
    0: "Tests passed",
    1: "Tests ran but failed",
    2: "User interrupted (Ctrl+C)",
    3: "pytest internal error",
    4: "Command line usage error",
    5: "No tests found",
    124: "GNU timeout killed process",
    137: "SIGKILL (OOM or timeout)",
}
_OTHER_EXIT_CODE = 255
_UNEXPECTED = "Unexpected exit code"

_CAVEATS = {
    0: "In final_test, 0 counts only with a complete report in which the expected tests passed.",
    2: "A failed collector in pytest's report makes it INTERNAL_ERROR, whatever the exit code.",
    124: "If agentbench's own deadline ended the command, its ending in the record is timed_out.",
    137: "If the kernel's OOM killer ended the command, it is SANDBOX_ERROR (out of memory).",
}

_SCENARIOS = (
    ("Valid baseline (tests fail)", 1, StageName.BASELINE_RUN),
    ("Invalid task (tests pass)", 0, StageName.BASELINE_RUN),
    ("pip install fails", 1, StageName.SETUP),
    ("Setup takes too long", 124, StageName.SETUP),
    ("Tests hang forever", 124, StageName.AGENT_RUN),
    ("Bad git URL", 128, StageName.GIT_CLONE),
    ("git clone hangs", 124, StageName.GIT_CLONE),
)

# As `test_runs.external_runner.decide_outcome` and `scoring.classification` have it.
_EXTERNAL_OUTCOMES = (
    ("all tests passed, and the code is 0", None),
    ("a test failed, and the code is not 0", FailureReason.TESTS_FAILED),
    ("a file could not be compiled or loaded", FailureReason.INTERNAL_ERROR),
    ("the report is whole and has no test", FailureReason.NO_TESTS_COLLECTED),
    ("the report contradicts the code, or is not whole", FailureReason.INTERNAL_ERROR),
    ("there is no report, and the code is not 0", FailureReason.INTERNAL_ERROR),
    ("the program is missing", FailureReason.INTERNAL_ERROR),
    ("the time limit ended it", FailureReason.TIMEOUT),
)


def render_taxonomy_page() -> str:
    """The whole of docs/failure_taxonomy.md."""
    template = Template(Path(__file__).with_name("failure_taxonomy.md").read_text("utf-8"))
    reasons = sorted(FailureReason, key=lambda reason: reason.precedence)
    codes = [(str(code), _pytest_reason(code), meaning) for code, meaning in _MEANINGS.items()]
    scenarios = [
        (what, str(code), stage.value, _reason_or_none(FailureReason.from_stage(stage, code)))
        for what, code, stage in _SCENARIOS
    ]
    scenarios += [
        ("User presses Ctrl+C", "2", "any", _reason_or_none(FailureReason.INTERRUPTED)),
        ("Docker fails to start", "varies", "any", _reason_or_none(FailureReason.SANDBOX_ERROR)),
    ]
    return template.substitute(
        codes=_table(
            ("Code", "Description", "Typical cause"),
            ((f"`{r.value}`", r.description, r.typical_cause) for r in FailureReason),
        ),
        precedence=_table(
            ("Precedence", "Code", "Rationale"),
            ((str(r.precedence), f"`{r.value}`", r.rationale) for r in reasons),
        ),
        exit_codes=_table(
            ("Exit code", "FailureReason", "Meaning"),
            [*codes, ("other", _pytest_reason(_OTHER_EXIT_CODE), _UNEXPECTED)],
        ),
        runners=_table(
            ("Runner", "Report", "Whole if it has", "Exit codes"),
            (
                (f"`{runner.value}`", each.source, each.whole, each.exit_codes)
                for runner, each in REPORTS.items()
            ),
        ),
        outcomes=_table(
            ("What the report and the exit code show", "FailureReason"),
            ((what, _reason_or_none(reason)) for what, reason in _EXTERNAL_OUTCOMES),
        ),
        scenarios=_table(("Scenario", "Exit code", "Stage", "Expected FailureReason"), scenarios),
        faults=_table(
            ("Fault", "By default"),
            (
                (fault.value, ", ".join(f"`{r.value}`" for r in FailureReason if r.fault is fault))
                for fault in Fault
            ),
        ),
    )


def explain_reason(reason: FailureReason) -> str:
    """The taxonomy's entry of a reason, as a few lines of text."""
    retried = "retried" if reason.fault is Fault.INFRASTRUCTURE else "not retried"
    lines = [
        f"{reason.value}: {reason.description}",
        f"  typical cause  {reason.typical_cause}",
        f"  precedence     {reason.precedence} of {len(FailureReason)} ({reason.rationale})",
        f"  fault          {reason.fault.value} ({retried}), unless the evidence says otherwise",
    ]
    stages_by_codes: dict[str, list[str]] = {}
    for stage in StageName:
        codes = [str(code) for code in _MEANINGS if FailureReason.from_stage(stage, code) is reason]
        if FailureReason.from_stage(stage, _OTHER_EXIT_CODE) is reason:
            codes = ["any but 0, 124, 137"] if "1" in codes else [*codes, "any other"]
        if codes:
            stages_by_codes.setdefault(", ".join(codes), []).append(stage.value)
    sources = [f"{codes} in {', '.join(stages)}" for codes, stages in stages_by_codes.items()]
    label = "exit codes"
    for source in sources or ["none: other evidence decides"]:
        lines.append(f"  {label:<13}  {source}")
        label = ""
    return "\n".join(lines)


WORDS: Mapping[str, str] = {
    "quarantined": (
        "An attempt with a critical finding: what its code did in a test run is not credible.\n"
        "  It is not resolved, its reason is TESTS_FAILED, and it counts in both rates.\n"
        "  typical cause  code that recognises tests, returns objects equal to everything, or "
        "changes pytest\n"
        "  what to do     `agentbench show RUN TASK` names the finding; read the patch\n"
        "  In task.toml, `quarantined` lists flaky tests instead, which are ignored."
    ),
    "tampered": (
        "An attempt whose agent changed tests that were there before, or the configuration of "
        "tests.\n"
        "  Such changes are never judged, so they do not affect the verdict. New test files do not "
        "count.\n"
        "  typical cause  an agent that adapts tests to its code, or disables them; an honest one "
        "may do so, too\n"
        "  what to do     `agentbench show RUN TASK` lists the files"
    ),
    "excluded": (
        "An attempt that failed by the fault of its task or of the infrastructure.\n"
        "  It counts in the rate of all attempts, and is left out of the second rate, which is "
        "about the agent only.\n"
        "  what to do     `agentbench validate` checks tasks; `run --rerun-failed` repeats attempts"
    ),
    "resolved": (
        "An attempt whose change makes every test to fix pass, breaks no test that must still "
        "pass,\n"
        "  and has no critical finding."
    ),
    "regressed": "A test that passed before the agent's change, and does not pass with it.",
    "sealed": (
        "A test that was run without its expected values: the values that the code gave were "
        "compared\n"
        "  with them outside of the sandbox, so that no code can have read them. The strongest "
        "control."
    ),
    "blind": (
        "A test that was run with changed expectations, so that it must fail. If it passes, its "
        "report is not credible."
    ),
    "weak": (
        "A test that control runs check weakly: it has no expected value that they can change, so "
        "that a forged\n"
        "  report of it may go unnoticed. It affects no verdict. The rule of the audit is "
        "weak-control.\n"
        "  what to do     compare the result with a value, as in `assert f(2) == 4`\n"
        "  Tests that accept wrong fixes are another matter: see weak-tests."
    ),
    "flaky": (
        "A test whose outcome differs between runs of the same code.\n"
        "  what to do     list it in `[tests] quarantined` of task.toml: it is ignored then"
    ),
    "valid": (
        "A task whose reference solution is resolved in each of its runs, that is not resolved "
        "without a change,\n"
        "  and whose tests are not flaky. `agentbench validate` proves it. Other tasks are invalid."
    ),
    ChangeRule.SUSPICIOUS_CODE: (
        "A finding that only informs: code that cheats need, such as an object equal to everything "
        "or a change of pytest.\n"
        "  Honest code may need it, too."
    ),
    ChangeRule.FILE_REFUSED: (
        "A finding about a file of the agent that is not judged: a device, a link out of the "
        "workspace, or a name that git refuses."
    ),
    ChangeRule.EXTRACTION_LIMIT: (
        "A finding about a workspace with too many or too large files: what is above the limit is "
        "not judged."
    ),
    ChangeRule.UNREADABLE_ARCHIVE: (
        "A finding about a workspace that the sandbox could not hand over as a whole: the rest is "
        "not judged."
    ),
    "gateway-token": (
        "A finding: the agent sent a request to the model without the attempt's token. It was "
        "refused."
    ),
    "gateway-path": (
        "A finding: the agent requested something else than an answer of its model from the "
        "gateway. It was refused."
    ),
    "gateway-api-format": (
        "A finding: the agent used an API format that its model does not speak here. It was "
        "refused."
    ),
    "gateway-request-size": (
        "A finding: a request of the agent to its model was too large. It was refused."
    ),
    ControlRule.PASSED: (
        "A critical finding: tests with changed expectations, which must fail, passed.\n"
        "  typical cause  objects that are equal to everything, or code that sets outcomes"
    ),
    ControlRule.SEALED: (
        "A critical finding: a test passed, but with its expected values hidden the code gave "
        "other ones.\n"
        "  typical cause  code that reads the expected values from the test"
    ),
    **{
        runner.value: (
            "A runner of tests.\n"
            f"  report      {each.source}\n"
            f"  whole if    {each.whole}\n"
            f"  exit codes  {each.exit_codes}\n"
            "  It counts only where report, exit code and the listed tests agree."
        )
        for runner, each in REPORTS.items()
    },
    ControlRule.DIFFERED: (
        "A critical finding: in a control run, a test with unchanged expectations did not pass.\n"
        "  typical cause  code that recognises its test by name or file"
    ),
}
"""The words of reports that are no reasons, with their explanations."""


def reason_facts(reason: FailureReason) -> dict[str, str | int]:
    """The taxonomy's entry of a reason, for JSON."""
    return {
        "name": reason.value,
        "precedence": reason.precedence,
        "fault": reason.fault.value,
        "description": reason.description,
        "typical_cause": reason.typical_cause,
        "rationale": reason.rationale,
    }


def explain_exit_code(code: int, stage: str | None = None) -> str:
    """The meaning of an exit code in one stage or in all stages, as text.

    Raises:
        ValueError: there is no such stage.
    """
    meaning = _MEANINGS.get(code, _UNEXPECTED)
    lines = [f"Exit code {code}; from pytest or GNU timeout: {meaning}"]
    for name in StageName if stage is None else (stage,):
        reason = FailureReason.from_stage(name, code)
        failure_text = "no failure" if reason is None else f"{reason.value}: {reason.description}"
        lines.append(f"  {name:<12}  {failure_text}")
    if code in _CAVEATS:
        lines.append(_CAVEATS[code])
    return "\n".join(lines)


def _pytest_reason(code: int) -> str:
    return _reason_or_none(FailureReason.from_pytest_exit_code(code))


def _reason_or_none(reason: FailureReason | None) -> str:
    return "`None`" if reason is None else f"`{reason.value}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(render_taxonomy_page())
