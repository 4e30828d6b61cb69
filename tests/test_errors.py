import pytest

from agentbench import errors
from agentbench.cli.process_setup import ExitCode
from agentbench.errors import AgentbenchError, AttemptError, InputError
from agentbench.taxonomy import FailureReason, Fault

ALL = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and kind.__module__ == errors.__name__
]
AT_ATTEMPTS = [kind for kind in ALL if issubclass(kind, AttemptError)]


def test_every_error_of_ours_is_one_family():
    assert len(ALL) >= 10
    others = [kind for kind in ALL if not issubclass(kind, AgentbenchError)]
    assert others == [errors.RunCancelled]


def test_an_agent_that_catches_every_exception_does_not_outlive_a_cancelled_run():
    assert not issubclass(errors.RunCancelled, Exception)
    assert errors.RunCancelled.failure_reason is FailureReason.INTERRUPTED
    assert str(errors.RunCancelled()) == "the run was cancelled"


def test_an_error_is_blamed_on_somebody_else_by_a_new_error():
    first = errors.DoesNotFitError("too much")
    second = first.blamed_on(Fault.AGENT)
    assert (type(second), str(second), second.fault) == (type(first), "too much", Fault.AGENT)
    assert first.fault is None


@pytest.mark.parametrize("kind", ALL)
def test_every_exit_code_is_one_of_the_programs(kind):
    assert ExitCode(kind.exit_code)


def test_errors_that_mean_different_things_to_a_caller_have_different_exit_codes():
    codes = {kind.__name__: kind.exit_code for kind in AgentbenchError.__subclasses__()}
    assert codes == {"UsageError": 2, "InputError": 65, "UnavailableError": 69, "AttemptError": 70}
    others = {kind.exit_code for kind in AT_ATTEMPTS if not issubclass(kind, errors.SandboxError)}
    assert others == {70}


def test_an_engine_that_is_lost_is_as_unavailable_as_one_that_never_was():
    assert errors.SandboxError.exit_code == errors.UnavailableError.exit_code == 69


@pytest.mark.parametrize("kind", AT_ATTEMPTS)
def test_an_attempts_error_names_a_reason_of_the_taxonomy(kind):
    assert kind.failure_reason in FailureReason
    assert kind.fault is None or kind.fault in Fault


def test_an_input_error_holds_every_fault_and_says_each_on_a_line():
    error = InputError("a: x", "b: y")
    assert error.faults == ("a: x", "b: y")
    assert str(error) == "a: x\nb: y"
