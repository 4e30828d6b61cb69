import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.errors import GitCloneError, LLMError
from agentbench.scoring import FailureReason, Fault, StageName, classify
from agentbench.scoring.classification import (
    error_line,
    exception_fact,
    last_line,
    network_failure,
    report_failure,
)
from agentbench.scoring.evidence import (
    AgentEnding,
    CollectionFact,
    Ending,
    Evidence,
    ExceptionFact,
    ReportFacts,
)
from tests.scoring.strategies import A, B, case, command, commands, evidences, ran, report

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
def test_stage_that_exits_0_has_not_failed(stage):
    assert classify(StageName(stage), Evidence(command=command(0))) is None


@pytest.mark.parametrize("exit_code", [1, 2, 3, 4, 5, 127, 139])
def test_baseline_that_fails_in_any_way_is_a_valid_one(exit_code):
    assert classify(StageName.BASELINE_RUN, Evidence(command=command(exit_code))) is None
    died = Evidence(command=command(None, Ending.KILLED, signal=11))
    assert classify(StageName.BASELINE_RUN, died) is None


@pytest.mark.parametrize(("stage", "signal", "exit_code", "code", "fault", "detail"), SIGNALS)
def test_signal_is_a_shells_exit_code_and_never_a_success(
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
def test_detail_says_what_decided(stage, ending, exit_code, detail):
    evidence = Evidence(command=command(exit_code, ending, stderr="oh\nno such file\n"))
    assert classify(StageName(stage), evidence).detail == detail


def test_long_command_is_shortened_in_the_detail():
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
def test_full_disk_is_reported_with_its_limit(limit):
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


def test_oom_kill_of_a_child_does_not_fail_a_continued_command():
    survived = command(0, Ending.OUT_OF_MEMORY)
    assert classify(StageName.SETUP, Evidence(command=survived)) is None
    passed = Evidence(command=survived, report=report(case(A)))
    assert classify(StageName.FINAL_TEST, passed) is None
    assert judged("baseline_run", passed) == ("BASELINE_NOT_FAILING", "task")


def test_baseline_that_lost_a_child_and_reported_its_failures_is_a_valid_one():
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
def test_network_is_blamed_only_before_the_agent(stage, ending, fault):
    for said in ({"stderr": RESOLVING}, {"stdout": RESOLVING}):
        evidence = Evidence(command=command(1, ending, **said))
        assert judged(stage, evidence)[1] == fault


def test_report_decides_only_at_the_final_test():
    evidence = ran(case(A, "failed"))
    assert judged("final_test", evidence) == ("TESTS_FAILED", "agent")
    assert classify(StageName.BASELINE_RUN, evidence) is None


def test_no_evidence_is_no_failure():
    assert all(classify(stage, Evidence()) is None for stage in StageName)


def test_exception_outweighs_all_other_evidence():
    fact = ExceptionFact(type_name="SandboxError", message="gone", reason="SANDBOX_ERROR")
    evidence = ran(case(A)).replace(exception=fact, agent="submitted")
    failure = classify(StageName.FINAL_TEST, evidence)
    assert failure.reason is FailureReason.SANDBOX_ERROR
    assert failure.detail == "gone"


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
def test_fault_that_comes_with_an_exception_overrides_the_default(reason, fault):
    fact = ExceptionFact(type_name="Refusal", message="", reason=reason, fault=fault)
    assert judged("agent_run", Evidence(exception=fact)) == (reason, fault.value)


def test_exception_without_message_is_shown_by_its_type():
    fact = ExceptionFact(type_name="KeyboardInterrupt", message="", reason="INTERRUPTED")
    failure = classify(StageName.SETUP, Evidence(exception=fact))
    assert failure.detail == "KeyboardInterrupt"


def test_exception_is_reduced_to_what_a_judgement_needs():
    error = LLMError("the model refused")
    error.fault = "agent"
    assert exception_fact(StageName.AGENT_RUN, error) == ExceptionFact(
        type_name="LLMError", message="the model refused", reason="LLM_ERROR", fault="agent"
    )
    assert exception_fact(StageName.GIT_CLONE, GitCloneError("no")).fault is None
    assert exception_fact(StageName.SETUP, KeyboardInterrupt()).reason == "INTERRUPTED"


@pytest.mark.parametrize("carried", ["nobody", 7, ["agent"], None])
def test_unknown_fault_is_ignored(carried):
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
def test_failed_network_is_recognised(said):
    assert network_failure(said)
    assert network_failure(said.upper())


@pytest.mark.parametrize("said", OTHERWISE)
def test_any_other_failure_is_not(said):
    assert network_failure(said) is None


def test_network_phrase_is_quoted_unchanged():
    assert network_failure("oh: Network is unreachable!") == "Network is unreachable"


def test_only_the_end_of_the_output_counts():
    phrase = "network is unreachable"
    assert network_failure(phrase + "x" * 1000)
    assert network_failure(phrase + "x" * 100_000) is None


AGENT_ENDINGS = [
    ("submitted", None, None),
    ("step_limit", "AGENT_GAVE_UP", "agent"),
    ("cost_limit", "AGENT_GAVE_UP", "agent"),
    ("time_limit", "TIMEOUT", "agent"),
    ("llm_error", "LLM_ERROR", "infrastructure"),
    ("tool_error", "TOOL_ERROR", "agent"),
    ("crashed", "UNKNOWN", "agent"),
    ("interrupted", "INTERRUPTED", "agent"),
]


def agent_judged(ending: str, **evidence) -> tuple[str | None, str | None]:
    failure = classify(StageName.AGENT_RUN, Evidence(agent=AgentEnding(ending), **evidence))
    return (None, None) if failure is None else (failure.reason.value, failure.fault.value)


@pytest.mark.parametrize(("ending", "code", "fault"), AGENT_ENDINGS)
def test_each_way_an_agent_stops_has_its_reason_and_fault(ending, code, fault):
    assert agent_judged(ending) == (code, fault)


@pytest.mark.parametrize(
    ("ending", "code"), [(ending, code) for ending, code, _ in AGENT_ENDINGS[1:]]
)
@pytest.mark.parametrize("fault", Fault)
def test_fault_that_comes_with_the_ending_overrides_the_default(ending, code, fault):
    assert agent_judged(ending, agent_fault=fault) == (code, fault.value)


def test_last_message_of_the_agent_is_the_detail():
    evidence = Evidence(agent=AgentEnding.TOOL_ERROR, agent_detail="agent exited 1: no key")
    assert classify(StageName.AGENT_RUN, evidence).detail == "agent exited 1: no key"
    silent = Evidence(agent=AgentEnding.STEP_LIMIT)
    assert classify(StageName.AGENT_RUN, silent).detail == "the agent reports: step limit"


@pytest.mark.parametrize(
    ("exit_code", "ending", "signal", "code"),
    [
        (1, Ending.EXITED, None, "TOOL_ERROR"),
        (124, Ending.EXITED, None, "TIMEOUT"),
        (137, Ending.EXITED, None, "TIMEOUT"),
        (None, Ending.KILLED, 9, "TIMEOUT"),
        (None, Ending.KILLED, 11, "TOOL_ERROR"),
    ],
)
def test_agent_that_failed_by_a_timeouts_exit_code_timed_out(exit_code, ending, signal, code):
    result = command(exit_code, ending, signal=signal)
    assert agent_judged("tool_error", command=result) == (code, "agent")


@pytest.mark.parametrize("ending", ["submitted", "tool_error", "crashed", "interrupted"])
def test_harness_deadline_outweighs_the_ending_that_the_agent_claims(ending):
    result = command(None, Ending.TIMED_OUT)
    assert agent_judged(ending, command=result) == ("TIMEOUT", "agent")


@pytest.mark.parametrize(
    ("ending", "code"),
    [("llm_error", "LLM_ERROR"), ("step_limit", "AGENT_GAVE_UP"), ("cost_limit", "AGENT_GAVE_UP")],
)
def test_deadline_does_not_hide_what_the_harness_saw_first(ending, code):
    assert agent_judged(ending, command=command(None, Ending.TIMED_OUT))[0] == code


@pytest.mark.parametrize("ending", AgentEnding)
def test_agent_out_of_memory_is_an_agent_fault(ending):
    result = command(137, Ending.OUT_OF_MEMORY)
    assert agent_judged(ending, command=result) == ("SANDBOX_ERROR", "agent")


@pytest.mark.parametrize("ending", AgentEnding)
@pytest.mark.parametrize("code", [0, 137])
def test_agent_out_of_disk_is_an_agent_fault(ending, code):
    result = command(code, Ending.OUT_OF_DISK, exceeded="64 MiB")
    assert agent_judged(ending, command=result) == ("SANDBOX_ERROR", "agent")


@pytest.mark.parametrize("ending", AgentEnding)
def test_lost_sandbox_is_an_infrastructure_fault(ending):
    result = command(None, Ending.LOST)
    assert agent_judged(ending, command=result) == ("SANDBOX_ERROR", "infrastructure")


def test_agent_that_outlived_a_child_lost_to_memory_has_not_failed():
    survived = command(0, Ending.OUT_OF_MEMORY)
    assert agent_judged("submitted", command=survived) == (None, None)
    assert agent_judged("step_limit", command=survived) == ("AGENT_GAVE_UP", "agent")


@given(
    result=st.none() | commands.filter(lambda c: c.ending is not Ending.LOST),
    ending=st.sampled_from([e for e in AgentEnding if e is not AgentEnding.LLM_ERROR]),
)
def test_agents_ending_is_the_infrastructures_only_by_the_gateway_or_a_loss(result, ending):
    failure = classify(StageName.AGENT_RUN, Evidence(agent=ending, command=result))
    assert failure is None or failure.fault is Fault.AGENT


ONE_EACH = (case(A, "failed"), case(B))

OUTCOMES = [
    (1, "failed", "TESTS_FAILED", "1 of 2 tests failed"),
    (5, "no_tests", "NO_TESTS_COLLECTED", "no tests were collected"),
    (2, "interrupted", "INTERRUPTED", "the test session was interrupted from within"),
    (3, "pytest_internal", "INTERNAL_ERROR", "pytest internal: exit code 3 (INTERNALERROR> oh)"),
    (4, "usage", "INTERNAL_ERROR", "usage: exit code 4 (INTERNALERROR> oh)"),
    (1, "spawn", "INTERNAL_ERROR", "spawn: exit code 1 (INTERNALERROR> oh)"),
    (1, "timeout", "TIMEOUT", "timeout: exit code 1 (INTERNALERROR> oh)"),
    (139, "crash", "UNKNOWN", "crash: exit code 139 (INTERNALERROR> oh)"),
    (None, "crash", "UNKNOWN", "crash: exit code None (INTERNALERROR> oh)"),
    (0, "crash", "UNKNOWN", "crash: exit code 0 (INTERNALERROR> oh)"),
    (137, "crash", "TIMEOUT", "killed by SIGKILL, cause unknown"),
    (0, "unverified", "TESTS_FAILED", "1 of 2 tests failed"),
]


@pytest.mark.parametrize(("exit_code", "outcome", "code", "detail"), OUTCOMES)
def test_each_outcome_has_its_reason_and_is_the_agents(exit_code, outcome, code, detail):
    result = command(exit_code, stderr="INTERNALERROR> Traceback\nINTERNALERROR> oh\n")
    seen = report(*ONE_EACH, outcome=outcome, complete=outcome != "crash")
    failure = report_failure(result, seen)
    assert (failure.reason, failure.detail) == (FailureReason(code), detail)
    assert failure.fault is Fault.AGENT
    assert failure.stage == "final_test"


def test_content_pytest_has_no_failure():
    assert report_failure(command(0), report(case(A))) is None


@pytest.mark.parametrize("exit_code", [0, 1, 2, 4, 5])
@pytest.mark.parametrize(
    "outcome", ["collection_error", "passed", "failed", "interrupted", "usage", "no_tests"]
)
def test_failed_collector_is_an_internal_error_at_any_exit_code(exit_code, outcome):
    seen = report(case(A), outcome=outcome, collection_errors=("tests/test_x.py", "tests/y.py"))
    failure = report_failure(command(exit_code), seen)
    assert failure.reason is FailureReason.INTERNAL_ERROR
    assert failure.detail == (
        "Tests could not be collected: an error in tests/test_x.py (and 1 more)"
    )


def test_failed_collector_is_reported_with_its_line():
    fact = CollectionFact(
        file="tests/test_x.py", error="SyntaxError", path="model.py", line=42, message="bad input"
    )
    seen = report(outcome="collection_error", collection_errors=("tests/test_x.py",))
    failure = report_failure(command(2), seen.replace(collection_facts=(fact,)))
    assert (failure.reason, failure.fault) == (FailureReason.INTERNAL_ERROR, Fault.AGENT)
    assert failure.detail == (
        "Tests could not be collected: SyntaxError in model.py, line 42: bad input"
    )


def test_collector_without_a_name_is_recognized():
    failure = report_failure(command(2), report(outcome="collection_error"))
    assert failure.detail == "Tests could not be collected: an error in an unnamed file"


@pytest.mark.parametrize(("outcome", "code"), [("timeout", "TIMEOUT"), ("crash", "UNKNOWN")])
def test_interrupted_run_does_not_blame_a_collector(outcome, code):
    seen = report(outcome=outcome, collection_errors=("tests/test_x.py",), complete=False)
    assert report_failure(command(139), seen).reason is FailureReason(code)


@pytest.mark.parametrize("code", [9, 42, 139])
def test_crash_after_whole_report_leaves_failed_tests_as_reason(code):
    failure = report_failure(command(code), report(*ONE_EACH, outcome="crash"))
    assert (failure.reason, failure.detail) == (FailureReason.TESTS_FAILED, "1 of 2 tests failed")


def test_passed_report_with_another_exit_code_is_not_believed():
    failure = report_failure(command(1), report(*ONE_EACH, outcome="passed"))
    assert (failure.reason, failure.detail) == (FailureReason.TESTS_FAILED, "1 of 2 tests failed")


@pytest.mark.parametrize("outcome", ["passed", "unverified"])
def test_exit_0_with_nothing_collected_is_no_tests(outcome):
    failure = report_failure(command(0), report(outcome=outcome))
    assert failure.reason is FailureReason.NO_TESTS_COLLECTED


@pytest.mark.parametrize("outcome", ["passed", "unverified"])
def test_exit_0_with_half_a_report_is_an_internal_error(outcome):
    failure = report_failure(command(0), report(case(A), outcome=outcome, complete=False))
    assert failure.reason is FailureReason.INTERNAL_ERROR
    assert failure.detail == "exit code 0 without a whole report behind it"


def test_half_a_report_does_not_count_its_failing_tests():
    failure = report_failure(command(1), report(*ONE_EACH, outcome="unverified", complete=False))
    assert failure.reason is FailureReason.INTERNAL_ERROR


@pytest.mark.parametrize("code", [0, 1, 3])
def test_exit_code_alone_is_no_failure_of_whole_report(code):
    assert report_failure(command(code), report(case(A), outcome="unverified")) is None


@pytest.mark.parametrize(
    ("stdout", "stderr", "expected"),
    [
        (
            "",
            "ERROR: usage: __main__.py [options]\n__main__.py: error: unrecognized arguments: --x\n"
            "  inifile: /w/pytest.ini\n  rootdir: /w\n",
            " (__main__.py: error: unrecognized arguments: --x)",
        ),
        ("", "ERROR: /w/p.ini:3: duplicate name\n\n", " (ERROR: /w/p.ini:3: duplicate name)"),
        ("ERROR: not found: t.py::x\n= 1 error =\n", "", " (ERROR: not found: t.py::x)"),
        ("INTERNALERROR> a\nINTERNALERROR> E: b\n= no tests =\n", "", " (INTERNALERROR> E: b)"),
        ("one\ntwo\n", "", " (two)"),
    ],
)
def test_error_line_names_the_cause_of_pytests_end(stdout, stderr, expected):
    assert error_line(command(4, stdout=stdout, stderr=stderr)) == expected


@pytest.mark.parametrize(
    ("stderr", "stdout", "expected"),
    [
        ("", "", ""),
        (" \n", "one\n two \n\n", " (two)"),
        ("oops\n", "fine\n", " (oops)"),
        ("x" * 500, "", f" ({'x' * 200})"),
    ],
)
def test_last_line_prefers_stderr(stderr, stdout, expected):
    assert last_line(command(1, stderr=stderr, stdout=stdout)) == expected
