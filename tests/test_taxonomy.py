"""The pure mappings are the seed's tables, row by row, written out here once more."""

import doctest
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench import errors, taxonomy
from agentbench.taxonomy import FailureReason, Fault, StageName

CODES = [
    ("SETUP_FAILED", "Setup command failed", "Missing dependency, broken pip install"),
    ("SETUP_TIMEOUT", "Setup exceeded timeout", "Slow network, large dependencies"),
    ("BASELINE_NOT_FAILING", "Tests pass before fix", "Invalid task (already fixed)"),
    ("TIMEOUT", "Run command exceeded timeout", "Infinite loop, slow tests"),
    ("SANDBOX_ERROR", "Docker/container failure", "Docker daemon down, OOM"),
    ("GIT_CLONE_FAILED", "Could not clone repo", "Bad URL, network failure"),
    ("GIT_CHECKOUT_FAILED", "Could not checkout commit", "Invalid commit SHA"),
    ("TOOL_ERROR", "Agent tool call failed", "Invalid patch, path escape"),
    ("TESTS_FAILED", "Tests fail after agent", "Agent didn't fix the bug"),
    ("AGENT_GAVE_UP", "Agent hit step limit", "Complex bug, bad strategy"),
    ("LLM_ERROR", "LLM API failure", "Rate limit, invalid key"),
    ("NO_TESTS_COLLECTED", "pytest found no tests", "Wrong test path, missing tests"),
    ("INTERNAL_ERROR", "pytest internal error", "Broken conftest, import error"),
    ("INTERRUPTED", "User cancelled", "Ctrl+C"),
    ("UNKNOWN", "Unexpected error", "Uncaught exception"),
]

PRECEDENCE = [
    (1, "GIT_CLONE_FAILED", "Can't even get the code"),
    (2, "GIT_CHECKOUT_FAILED", "Can't get correct version"),
    (3, "SETUP_TIMEOUT", "Setup never completed"),
    (4, "SETUP_FAILED", "Dependencies broken"),
    (5, "BASELINE_NOT_FAILING", "Task is invalid"),
    (6, "SANDBOX_ERROR", "Execution environment broken"),
    (7, "LLM_ERROR", "Can't get agent responses"),
    (8, "TOOL_ERROR", "Agent's tool calls fail"),
    (9, "TIMEOUT", "Ran out of time"),
    (10, "AGENT_GAVE_UP", "Budget exhausted"),
    (11, "TESTS_FAILED", "Agent tried but didn't fix"),
    (12, "NO_TESTS_COLLECTED", "Testing infrastructure issue"),
    (13, "INTERNAL_ERROR", "pytest internal failure"),
    (14, "INTERRUPTED", "User cancellation"),
    (15, "UNKNOWN", "Catch-all"),
]

EXIT_CODES = [
    (0, None),
    (1, "TESTS_FAILED"),
    (2, "INTERRUPTED"),
    (3, "INTERNAL_ERROR"),
    (4, "INTERNAL_ERROR"),
    (5, "NO_TESTS_COLLECTED"),
    (124, "TIMEOUT"),
    (137, "TIMEOUT"),
    (6, "UNKNOWN"),
    (-1, "UNKNOWN"),
    (-9, "UNKNOWN"),
    (123, "UNKNOWN"),
    (125, "UNKNOWN"),
    (127, "UNKNOWN"),
    (136, "UNKNOWN"),
    (139, "UNKNOWN"),
    (255, "UNKNOWN"),
]

STAGES = [
    ("git_clone", 0, None),
    ("git_clone", 1, "GIT_CLONE_FAILED"),
    ("git_clone", 2, "GIT_CLONE_FAILED"),
    ("git_clone", 124, "TIMEOUT"),
    ("git_clone", 137, "TIMEOUT"),
    ("git_checkout", 0, None),
    ("git_checkout", 1, "GIT_CHECKOUT_FAILED"),
    ("git_checkout", 128, "GIT_CHECKOUT_FAILED"),
    ("git_checkout", 124, "TIMEOUT"),
    ("git_checkout", 137, "TIMEOUT"),
    ("setup", 0, None),
    ("setup", 2, "SETUP_FAILED"),
    ("setup", 5, "SETUP_FAILED"),
    ("setup", 137, "SETUP_TIMEOUT"),
    ("baseline_run", 2, None),
    ("baseline_run", 5, None),
    ("baseline_run", 139, None),
    ("baseline_run", 124, "TIMEOUT"),
    ("baseline_run", 137, "TIMEOUT"),
    ("agent_run", 137, "TIMEOUT"),
    ("final_test", 124, "TIMEOUT"),
]

SCENARIOS = [
    ("baseline_run", 1, None, None),
    ("baseline_run", 0, None, "BASELINE_NOT_FAILING"),
    ("setup", 1, None, "SETUP_FAILED"),
    ("setup", 124, None, "SETUP_TIMEOUT"),
    ("agent_run", 124, None, "TIMEOUT"),
    ("git_clone", 128, None, "GIT_CLONE_FAILED"),
    *((stage, 2, KeyboardInterrupt(), "INTERRUPTED") for stage in StageName),
    ("git_clone", 124, None, "TIMEOUT"),
    *((stage, 125, errors.SandboxError("no engine"), "SANDBOX_ERROR") for stage in StageName),
]

FAULTS = {
    Fault.TASK: {
        "GIT_CLONE_FAILED",
        "GIT_CHECKOUT_FAILED",
        "SETUP_TIMEOUT",
        "SETUP_FAILED",
        "BASELINE_NOT_FAILING",
    },
    Fault.INFRASTRUCTURE: {"SANDBOX_ERROR", "LLM_ERROR", "INTERRUPTED", "UNKNOWN"},
    Fault.AGENT: {
        "TOOL_ERROR",
        "TIMEOUT",
        "AGENT_GAVE_UP",
        "TESTS_FAILED",
        "NO_TESTS_COLLECTED",
        "INTERNAL_ERROR",
    },
}


class EngineError(Exception):
    """Stands for an error of the Docker client, which is known by the module of a base."""

    __module__ = "docker.errors"


class OwnEngineError(EngineError):
    """A subclass of it from elsewhere."""


class CarryingError(Exception):
    """Carries a word that is no reason."""

    failure_reason = "BAD_WEATHER"


EXCEPTIONS = [
    (KeyboardInterrupt(), "INTERRUPTED"),
    (errors.RunCancelled(), "INTERRUPTED"),
    (errors.SandboxError("lost"), "SANDBOX_ERROR"),
    (errors.GitCloneError("no such host"), "GIT_CLONE_FAILED"),
    (errors.GitCheckoutError("no such commit"), "GIT_CHECKOUT_FAILED"),
    (errors.LLMError("429"), "LLM_ERROR"),
    (errors.ToolError("five in a row"), "TOOL_ERROR"),
    (errors.AttemptError("what"), "UNKNOWN"),
    (errors.InputError("what"), "UNKNOWN"),
    (EngineError(), "SANDBOX_ERROR"),
    (OwnEngineError(), "SANDBOX_ERROR"),
    (CarryingError(), "UNKNOWN"),
    (ValueError("docker"), "UNKNOWN"),
    (SystemExit(0), "UNKNOWN"),
    (None, None),
]


def named(code: str | None) -> FailureReason | None:
    return None if code is None else FailureReason(code)


@pytest.mark.parametrize(("code", "description", "cause"), CODES)
def test_each_code_has_the_seeds_description_and_cause(code, description, cause):
    reason = FailureReason(code)
    assert (reason.description, reason.typical_cause) == (description, cause)


def test_the_stages_are_six_in_the_order_they_run():
    assert [stage.value for stage in StageName] == [
        "git_clone",
        "git_checkout",
        "setup",
        "baseline_run",
        "agent_run",
        "final_test",
    ]


def test_a_stage_is_written_as_its_name():
    assert f"{StageName.AGENT_RUN}" == "agent_run"
    assert StageName("final_test") is StageName.FINAL_TEST


def test_the_codes_are_the_seeds_fifteen_in_its_order():
    assert [reason.value for reason in FailureReason] == [code for code, _, _ in CODES]
    assert [reason.name for reason in FailureReason] == [code for code, _, _ in CODES]


@pytest.mark.parametrize(("number", "code", "rationale"), PRECEDENCE)
def test_each_code_has_the_seeds_precedence_and_rationale(number, code, rationale):
    reason = FailureReason(code)
    assert (reason.precedence, reason.rationale) == (number, rationale)


def test_precedence_is_a_total_order_from_1_to_15():
    assert sorted(reason.precedence for reason in FailureReason) == list(range(1, 16))


@pytest.mark.parametrize(("exit_code", "code"), EXIT_CODES)
def test_pytests_exit_codes_map_as_in_the_seed(exit_code, code):
    assert FailureReason.from_pytest_exit_code(exit_code) is named(code)


@pytest.mark.parametrize(("stage", "exit_code", "code"), STAGES)
def test_a_stages_exit_code_maps_as_in_the_seed(stage, exit_code, code):
    assert FailureReason.from_stage(stage, exit_code) is named(code)


@pytest.mark.parametrize("stage", ["agent_run", "final_test"])
@pytest.mark.parametrize(("exit_code", "code"), EXIT_CODES)
def test_agent_and_final_test_use_pytests_mapping(stage, exit_code, code):
    assert FailureReason.from_stage(stage, exit_code) is named(code)


@pytest.mark.parametrize(("stage", "exit_code", "exception", "code"), SCENARIOS)
def test_each_scenario_of_the_seed_gives_its_code(stage, exit_code, exception, code):
    assert FailureReason.from_stage(stage, exit_code, exception) is named(code)


@pytest.mark.parametrize("exit_code", ["1", None])
def test_an_exit_code_that_is_no_number_is_refused(exit_code):
    with pytest.raises(TypeError, match="exit_code: expected an int, found "):
        FailureReason.from_stage("setup", exit_code)


@pytest.mark.parametrize("stage", StageName)
@pytest.mark.parametrize(("exception", "code"), EXCEPTIONS[:-1])
def test_an_exception_comes_before_any_exit_code(stage, exception, code):
    assert FailureReason.from_stage(stage, 124, exception) is named(code)
    assert FailureReason.from_stage(stage, 0, exception) is named(code)


@given(
    stage=st.sampled_from(StageName),
    exit_code=st.integers(-255, 255),
    exception=st.sampled_from([exception for exception, _ in EXCEPTIONS]),
)
def test_from_stage_is_total(stage, exit_code, exception):
    reason = FailureReason.from_stage(stage, exit_code, exception)
    assert reason is None or reason in FailureReason
    assert reason is not None or exception is None
    assert FailureReason.from_stage(stage.value, exit_code, exception) is reason


@pytest.mark.parametrize("unknown", ["", "Setup", "SETUP", "tests", "git_clone "])
def test_an_unknown_stage_is_refused_with_the_six_names(unknown):
    with pytest.raises(ValueError, match=r"is not a stage; expected one of") as refused:
        FailureReason.from_stage(unknown, 0)
    assert all(stage.value in str(refused.value) for stage in StageName)
    assert repr(unknown) in str(refused.value)


def test_an_unknown_stage_is_refused_even_with_an_exception():
    with pytest.raises(ValueError, match="nowhere"):
        FailureReason.from_stage("nowhere", 1, KeyboardInterrupt())


@pytest.mark.parametrize(("fault", "codes"), FAULTS.items())
def test_each_reason_has_its_default_fault(fault, codes):
    assert {reason.value for reason in FailureReason if reason.fault is fault} == codes


reasons = st.lists(st.sampled_from(FailureReason))


@given(reasons)
def test_resolve_picks_the_lowest_number(several):
    primary = FailureReason.resolve(several)
    numbers = [reason.precedence for reason in several]
    assert (primary.precedence if primary else None) == min(numbers, default=None)


@given(reasons.flatmap(lambda several: st.tuples(st.just(several), st.permutations(several))))
def test_resolve_ignores_order_and_duplicates(pair):
    several, shuffled = pair
    assert FailureReason.resolve(several) is FailureReason.resolve([*shuffled, *several])


@given(reasons)
def test_resolve_is_idempotent(several):
    primary = FailureReason.resolve(several)
    again = FailureReason.resolve([] if primary is None else [primary])
    assert again is primary


@given(reasons, st.sampled_from(FailureReason))
def test_one_more_reason_never_raises_the_primary_number(several, more):
    before = FailureReason.resolve(several)
    after = FailureReason.resolve([*several, more])
    assert after.precedence <= (before.precedence if before else more.precedence)


def test_resolve_takes_any_iterable():
    assert FailureReason.resolve(iter([FailureReason.UNKNOWN])) is FailureReason.UNKNOWN
    assert FailureReason.resolve(()) is None


def test_the_examples_in_the_module_run():
    found = doctest.testmod(taxonomy)
    assert found.attempted >= 4
    assert found.failed == 0


def test_a_reason_is_written_as_its_code():
    letters = set(string.ascii_uppercase) | {"_"}
    assert all(str(reason) == reason.name and set(reason) <= letters for reason in FailureReason)
