import os
import signal

import pytest

from agentbench.cli.process_setup import raise_keyboard_interrupt_on_signals


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
