import os
import re
import signal

import pytest

from agentbench import errors
from agentbench.cli.process_setup import ExitCode, raise_keyboard_interrupt_on_signals


def test_every_code_is_unique_and_listed_in_help(cli):
    listed = re.findall(r"\b(\d+) [a-z]", cli("--help").stdout.partition("Exit codes:")[2])
    assert [int(code) for code in listed] == [code.value for code in ExitCode]
    assert len({code.value for code in ExitCode}) == len(ExitCode.__members__)


def test_every_error_of_ours_ends_in_one_of_them():
    kinds = [errors.AgentbenchError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        assert kind.exit_code in set(ExitCode)
    assert errors.UsageError.exit_code == ExitCode.USAGE
    assert errors.InputError.exit_code == ExitCode.INPUT
    assert errors.UnavailableError.exit_code == ExitCode.UNAVAILABLE
    assert errors.AgentbenchError.exit_code == ExitCode.BUG


@pytest.fixture
def _handlers():
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_both_signals_end_it_like_ctrl_c(number):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell starts what goes to the background
    raise_keyboard_interrupt_on_signals()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
