"""A failure is a value that crosses files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agentbench.errors import GitCloneError, LLMError
from agentbench.scoring import FailureReason, Fault, StageName, classify
from agentbench.scoring.classification import Failure, exception_fact, network_failure
from agentbench.scoring.evidence import Ending, Evidence, ExceptionFact, ReportFacts
from tests.scoring.strategies import A, B, case, command, commands, evidences, failures, ran, report


@given(failures)
def test_a_failure_survives_the_round_trip_through_json(failure):
    assert Failure.model_validate_json(failure.model_dump_json()) == failure


def test_a_failure_is_terminal_unless_said_otherwise():
    failure = Failure(stage="setup", reason="SETUP_FAILED", fault="task", detail="exit code 1")
    assert failure.terminal


def test_a_failure_with_a_reason_outside_the_taxonomy_is_refused():
    with pytest.raises(ValidationError, match="reason"):
        Failure(stage="setup", reason="BAD_WEATHER", fault="task", detail="")


RESOLVING = "fatal: Could not resolve host: x.invalid"

ENDINGS = [
    ("git_clone", Ending.TIMED_OUT, None, "TIMEOUT", "infrastructure"),
    ("git_clone", Ending.LOST, None, "SANDBOX_ERROR", "infrastructure"),
    ("git_clone", Ending.EXITED, 128, "GIT_CLONE_FAILED", "task"),
    ("git_clone", Ending.EXITED, 124, "TIMEOUT", "infrastructure"),
    ("git_checkout", Ending.EXITED, 1, "GIT_CHECKOUT_FAILED", "task"),
    ("git_checkout", Ending.TIMED_OUT, None, "TIMEOUT", "infrastructure"),
    ("setup", Ending.TIMED_OUT, None, "SETUP_TIMEOUT", "task"),
    ("setup", Ending.EXITED, 1, "SETUP_FAILED", "task"),
    ("setup", Ending.EXITED, 2, "SETUP_FAILED", "task"),
    ("setup", Ending.EXITED, None, "SETUP_FAILED", "task"),
    ("setup", Ending.OUT_OF_MEMORY, 137, "SANDBOX_ERROR", "task"),
    ("setup", Ending.OUT_OF_DISK, 137, "SANDBOX_ERROR", "task"),
    ("setup", Ending.OUT_OF_DISK, 0, "SANDBOX_ERROR", "task"),
    ("setup", Ending.OUT_OF_MEMORY, 1, "SANDBOX_ERROR", "task"),
    ("setup", Ending.LOST, None, "SANDBOX_ERROR", "infrastructure"),
    ("baseline_run", Ending.EXITED, 0, "BASELINE_NOT_FAILING", "task"),
    ("baseline_run", Ending.OUT_OF_DISK, 137, "SANDBOX_ERROR", "task"),
    ("baseline_run", Ending.TIMED_OUT, None, "TIMEOUT", "task"),
    ("baseline_run", Ending.OUT_OF_MEMORY, None, "SANDBOX_ERROR", "task"),
    ("baseline_run", Ending.LOST, None, "SANDBOX_ERROR", "infrastructure"),
    ("final_test", Ending.OUT_OF_DISK, 137, "SANDBOX_ERROR", "agent"),
    ("final_test", Ending.OUT_OF_DISK, 0, "SANDBOX_ERROR", "agent"),
    ("git_clone", Ending.OUT_OF_DISK, 137, "SANDBOX_ERROR", "task"),
    ("final_test", Ending.TIMED_OUT, None, "TIMEOUT", "agent"),
    ("final_test", Ending.OUT_OF_MEMORY, None, "SANDBOX_ERROR", "agent"),
    ("final_test", Ending.OUT_OF_MEMORY, 0, "SANDBOX_ERROR", "agent"),
    ("final_test", Ending.LOST, None, "SANDBOX_ERROR", "infrastructure"),
    ("final_test", Ending.EXITED, 0, "INTERNAL_ERROR", "agent"),
    ("final_test", Ending.EXITED, 1, "TESTS_FAILED", "agent"),
    ("final_test", Ending.EXITED, 2, "INTERRUPTED", "agent"),
    ("final_test", Ending.EXITED, 139, "UNKNOWN", "agent"),
]

SIGNALS = [
    ("setup", 9, None, "SETUP_TIMEOUT", "task", "killed by SIGKILL, cause unknown"),
    ("setup", 11, None, "SETUP_FAILED", "task", "killed by signal 11: python -m pytest"),
    ("setup", None, None, "SETUP_FAILED", "task", "killed by an unknown signal: python -m pytest"),
    ("setup", None, 0, "SETUP_FAILED", "task", "killed by an unknown signal: python -m pytest"),
    ("git_clone", 9, None, "TIMEOUT", "infrastructure", "killed by SIGKILL, cause unknown"),
    ("final_test", 9, None, "TIMEOUT", "agent", "killed by SIGKILL, cause unknown"),
    ("final_test", None, 137, "TIMEOUT", "agent", "killed by SIGKILL, cause unknown"),
    ("final_test", 11, 0, "UNKNOWN", "agent", "killed by signal 11: python -m pytest"),
    ("final_test", None, 0, "UNKNOWN", "agent", "killed by an unknown signal: python -m pytest"),
]


def judged(stage: str, evidence: Evidence) -> tuple[str, str] | None:
    failure = classify(StageName(stage), evidence)
    return None if failure is None else (failure.reason.value, failure.fault.value)


@pytest.mark.parametrize(("stage", "ending", "exit_code", "code", "fault"), ENDINGS)
def test_each_ending_of_a_command_has_its_reason_and_fault(stage, ending, exit_code, code, fault):
    assert judged(stage, Evidence(command=command(exit_code, ending))) == (code, fault)


@pytest.mark.parametrize("stage", ["git_clone", "git_checkout", "setup", "agent_run"])
def test_a_stage_that_exits_0_has_not_failed(stage):
    assert classify(StageName(stage), Evidence(command=command(0))) is None


@pytest.mark.parametrize("exit_code", [1, 2, 3, 4, 5, 127, 139])
def test_a_baseline_that_fails_in_any_way_is_a_valid_one(exit_code):
    assert classify(StageName.BASELINE_RUN, Evidence(command=command(exit_code))) is None
    died = Evidence(command=command(None, Ending.KILLED, signal=11))
    assert classify(StageName.BASELINE_RUN, died) is None


@pytest.mark.parametrize(("stage", "signal", "exit_code", "code", "fault", "detail"), SIGNALS)
def test_a_signal_is_a_shells_exit_code_and_never_a_success(
    stage, signal, exit_code, code, fault, detail
):
    evidence = Evidence(command=command(exit_code, Ending.KILLED, signal=signal))
    assert judged(stage, evidence) == (code, fault)
    assert classify(StageName(stage), evidence).detail == detail


@pytest.mark.parametrize(
    ("stage", "ending", "exit_code", "detail"),
    [
        ("setup", Ending.TIMED_OUT, None, "still running after 5 s: python -m pytest"),
        ("setup", Ending.LOST, None, "the sandbox or its engine went away"),
        ("setup", Ending.EXITED, 137, "killed by SIGKILL, cause unknown"),
        ("setup", Ending.EXITED, 3, "exit code 3: python -m pytest (no such file)"),
        ("baseline_run", Ending.EXITED, 0, "the tests pass before any fix"),
        ("final_test", Ending.EXITED, 0, "the test run exited 0 but left no report"),
    ],
)
def test_the_detail_says_what_decided(stage, ending, exit_code, detail):
    evidence = Evidence(command=command(exit_code, ending, stderr="oh\nno such file\n"))
    assert classify(StageName(stage), evidence).detail == detail


def test_a_long_command_is_shortened_in_the_detail():
    shown = classify(StageName.SETUP, Evidence(command=command(1, argv=("x" * 500,)))).detail
    assert shown == f"exit code 1: {'x' * 117}..."
    whole = classify(StageName.SETUP, Evidence(command=command(1, argv=("x" * 120,)))).detail
    assert whole == f"exit code 1: {'x' * 120}"


def test_lack_of_memory_names_the_limit_where_there_is_one():
    dead = command(137, Ending.OUT_OF_MEMORY)
    limited = classify(StageName.FINAL_TEST, Evidence(command=dead, memory_limit_mib=512))
    assert limited.detail == "out of memory (limit 512 MiB)"
    assert classify(StageName.FINAL_TEST, Evidence(command=dead)).detail == "out of memory"


@pytest.mark.parametrize("limit", ["4096 MiB", "300000 files"])
def test_a_full_disk_is_told_with_the_limit(limit):
    full = command(137, Ending.OUT_OF_DISK, exceeded=limit)
    failure = classify(StageName.FINAL_TEST, Evidence(command=full))
    assert failure.detail == f"out of disk (limit {limit})"
    unknown = Evidence(command=command(137, Ending.OUT_OF_DISK))
    assert classify(StageName.FINAL_TEST, unknown).detail == "out of disk"


def test_our_deadline_the_oom_killer_and_a_full_disk_outweigh_a_report():
    seen = report(case(A), case(B))
    for ending, code in (
        (Ending.TIMED_OUT, "TIMEOUT"),
        (Ending.OUT_OF_MEMORY, "SANDBOX_ERROR"),
        (Ending.OUT_OF_DISK, "SANDBOX_ERROR"),
    ):
        evidence = Evidence(command=command(137, ending), report=seen)
        assert judged("final_test", evidence) == (code, "agent")


def test_a_child_lost_to_the_oom_killer_does_not_fail_a_command_that_went_on():
    survived = command(0, Ending.OUT_OF_MEMORY)
    assert classify(StageName.SETUP, Evidence(command=survived)) is None
    passed = Evidence(command=survived, report=report(case(A)))
    assert classify(StageName.FINAL_TEST, passed) is None
    assert judged("baseline_run", passed) == ("BASELINE_NOT_FAILING", "task")


def test_a_baseline_that_lost_a_child_and_reported_its_failures_is_a_valid_one():
    seen = report(case(A, "failed"))
    lost_a_child = Evidence(command=command(1, Ending.OUT_OF_MEMORY), report=seen)
    assert classify(StageName.BASELINE_RUN, lost_a_child) is None


def test_final_tests_that_fail_after_a_child_was_lost_are_put_down_to_memory():
    seen = report(case(A, "failed"))
    evidence = Evidence(command=command(1, Ending.OUT_OF_MEMORY), report=seen)
    assert judged("final_test", evidence) == ("SANDBOX_ERROR", "agent")


@pytest.mark.parametrize(
    ("stage", "ending", "fault"),
    [
        ("git_clone", Ending.EXITED, "infrastructure"),
        ("git_checkout", Ending.EXITED, "infrastructure"),
        ("setup", Ending.EXITED, "infrastructure"),
        ("setup", Ending.TIMED_OUT, "infrastructure"),
        ("setup", Ending.OUT_OF_MEMORY, "task"),
        ("setup", Ending.OUT_OF_DISK, "task"),
        ("setup", Ending.KILLED, "task"),
        ("baseline_run", Ending.TIMED_OUT, "task"),
        ("agent_run", Ending.EXITED, "agent"),
        ("final_test", Ending.EXITED, "agent"),
    ],
)
def test_the_network_is_blamed_only_before_the_agent(stage, ending, fault):
    for said in ({"stderr": RESOLVING}, {"stdout": RESOLVING}):
        evidence = Evidence(command=command(1, ending, **said))
        assert judged(stage, evidence)[1] == fault


def test_a_report_decides_only_at_the_final_test():
    evidence = ran(case(A, "failed"))
    assert judged("final_test", evidence) == ("TESTS_FAILED", "agent")
    assert classify(StageName.BASELINE_RUN, evidence) is None


def test_no_evidence_is_no_failure():
    assert all(classify(stage, Evidence()) is None for stage in StageName)


def test_an_exception_outweighs_all_other_evidence():
    fact = ExceptionFact(type_name="SandboxError", message="gone", reason="SANDBOX_ERROR")
    evidence = ran(case(A)).replace(exception=fact, agent="submitted")
    failure = classify(StageName.FINAL_TEST, evidence)
    assert failure.reason is FailureReason.SANDBOX_ERROR
    assert failure.detail == "SandboxError: gone"


@pytest.mark.parametrize(
    ("stage", "reason", "message", "fault"),
    [
        ("setup", "UNKNOWN", "", "infrastructure"),
        ("agent_run", "UNKNOWN", "", "agent"),
        ("final_test", "UNKNOWN", "", "agent"),
        ("git_clone", "GIT_CLONE_FAILED", "not found", "task"),
        ("git_clone", "GIT_CLONE_FAILED", RESOLVING, "infrastructure"),
        ("git_checkout", "GIT_CHECKOUT_FAILED", "no such commit", "task"),
        ("git_checkout", "GIT_CHECKOUT_FAILED", RESOLVING, "infrastructure"),
        ("agent_run", "GIT_CLONE_FAILED", RESOLVING, "agent"),
        ("agent_run", "LLM_ERROR", "429", "infrastructure"),
        ("agent_run", "TOOL_ERROR", "", "agent"),
        ("agent_run", "SANDBOX_ERROR", "", "infrastructure"),
        ("agent_run", "INTERRUPTED", "", "infrastructure"),
    ],
)
def test_each_exception_has_its_fault(stage, reason, message, fault):
    fact = ExceptionFact(type_name="Oops", message=message, reason=reason)
    assert judged(stage, Evidence(exception=fact)) == (reason, fault)


@pytest.mark.parametrize("reason", ["LLM_ERROR", "INTERRUPTED", "SANDBOX_ERROR", "UNKNOWN"])
@pytest.mark.parametrize("fault", Fault)
def test_a_fault_that_comes_with_an_exception_overrides_the_default(reason, fault):
    fact = ExceptionFact(type_name="Refusal", message="", reason=reason, fault=fault)
    assert judged("agent_run", Evidence(exception=fact)) == (reason, fault.value)


def test_an_exception_without_words_is_shown_by_its_type():
    fact = ExceptionFact(type_name="KeyboardInterrupt", message="", reason="INTERRUPTED")
    failure = classify(StageName.SETUP, Evidence(exception=fact))
    assert failure.detail == "KeyboardInterrupt"


def test_an_exception_is_reduced_to_what_a_judgement_needs():
    error = LLMError("the model refused")
    error.fault = "agent"
    assert exception_fact(StageName.AGENT_RUN, error) == ExceptionFact(
        type_name="LLMError", message="the model refused", reason="LLM_ERROR", fault="agent"
    )
    assert exception_fact(StageName.GIT_CLONE, GitCloneError("no")).fault is None
    assert exception_fact(StageName.SETUP, KeyboardInterrupt()).reason == "INTERRUPTED"


@pytest.mark.parametrize("carried", ["nobody", 7, ["agent"], None])
def test_a_fault_that_is_none_of_ours_is_ignored(carried):
    error = RuntimeError("of some library")
    error.fault = carried
    assert exception_fact(StageName.SETUP, error).fault is None


@given(stage=st.sampled_from(StageName), evidence=evidences)
def test_classify_is_total_and_names_the_stage(stage, evidence):
    failure = classify(stage, evidence)
    assert failure is None or failure.stage is stage


@given(
    stage=st.sampled_from([StageName.AGENT_RUN, StageName.FINAL_TEST]),
    result=commands.filter(lambda c: c.ending is not Ending.LOST),
    seen=st.none() | st.builds(ReportFacts, outcome=..., source=..., complete=...),
)
def test_no_command_or_report_of_an_agents_is_the_infrastructures_fault(stage, result, seen):
    failure = classify(stage, Evidence(command=result, report=seen))
    assert failure is None or failure.fault is Fault.AGENT


FAILED = [
    "fatal: unable to access 'https://x.invalid/y.git/': Could not resolve host: x.invalid",
    "ssh: Could not resolve hostname x.invalid: Name or service not known",
    "ssh: connect to host x.invalid port 22: Connection timed out",
    "ssh: connect to host x.invalid port 22: Connection refused",
    "ssh: connect to host x.invalid port 22: No route to host",
    "error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502",
    "fatal: unable to access 'https://x.invalid/': The requested URL returned error: 503",
    "fatal: unable to access: Failed to connect to x.invalid port 443 after 9 ms: "
    "Couldn't connect to server",
    "error: RPC failed; curl 56 Recv failure: Connection reset by peer",
    "fatal: the remote end hung up unexpectedly\nfatal: early EOF",
    "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError': "
    "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
    "ReadTimeoutError(\"HTTPSConnectionPool(host='x.invalid', port=443): Read timed out.\")",
    "ConnectTimeoutError: Connection to x.invalid timed out. (connect timeout=15)",
    "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))",
    "OSError: [Errno 101] Network is unreachable",
    "ERROR: HTTP error 503 while getting a file",
    "requests.exceptions.HTTPError: 429 Client Error",
    "curl: (28) Operation timed out after 30001 milliseconds with 0 bytes received",
    "curl: (35) TLS connect error: unexpected eof",
    "Err:1 http://x.invalid stable InRelease\n  Temporary failure resolving 'x.invalid'",
    "error: error sending request for url (https://x.invalid/simple/)",
    "npm error code EAI_AGAIN",
]

OTHERWISE = [
    "",
    "fatal: repository 'https://x.invalid/y.git/' not found",
    "fatal: unable to access 'https://x.invalid/': The requested URL returned error: 403",
    "fatal: reference is not a tree: 0123",
    "ERROR: No matching distribution found for foo==503",
    "error: 5031 tests were found",
    "ModuleNotFoundError: No module named 'network'",
    "make: *** [all] Error 2",
]


@pytest.mark.parametrize("said", FAILED)
def test_a_failed_network_is_recognised(said):
    assert network_failure(said)
    assert network_failure(said.upper())


@pytest.mark.parametrize("said", OTHERWISE)
def test_any_other_failure_is_not(said):
    assert network_failure(said) is None


def test_the_phrase_is_given_back_as_it_was_said():
    assert network_failure("oh: Network is unreachable!") == "Network is unreachable"


def test_only_the_end_of_what_was_said_counts():
    said = "network is unreachable"
    assert network_failure(said + "x" * 1000)
    assert network_failure(said + "x" * 100_000) is None
