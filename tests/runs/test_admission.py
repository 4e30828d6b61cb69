from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

from agentbench.runs.admission import Admission


class Memory:
    """How much is free: what a test says, and it notes who asks."""

    def __init__(self, mib: int | None) -> None:
        self.mib = mib
        self.asked = Event()

    def __call__(self) -> int | None:
        self.asked.set()
        return self.mib


def test_attempts_are_let_in_while_there_is_memory(task):
    admission = Admission(Event(), Memory(task.environment.memory_mib))
    with admission.admitted(task), admission.admitted(task):
        pass


def test_where_the_kernel_does_not_say_all_are_let_in(task):
    admission = Admission(Event(), Memory(None))
    with admission.admitted(task), admission.admitted(task):
        pass


def test_the_only_attempt_is_let_in_on_whatever_machine(task):
    with Admission(Event(), Memory(1)).admitted(task):
        pass


def test_the_next_one_waits_until_another_has_ended(task):
    memory = Memory(1)
    admission = Admission(Event(), memory)
    first, second = ExitStack(), ExitStack()
    first.enter_context(admission.admitted(task))
    memory.asked.clear()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(second.enter_context, admission.admitted(task))
        assert memory.asked.wait(10)
        assert not waiting.done()
        first.close()
        waiting.result(timeout=10)
    second.close()


def test_memory_that_becomes_free_lets_it_in_too(task):
    memory = Memory(1)
    admission = Admission(Event(), memory)
    second = ExitStack()
    with admission.admitted(task), ThreadPoolExecutor() as pool:
        memory.asked.clear()
        waiting = pool.submit(second.enter_context, admission.admitted(task))
        assert memory.asked.wait(10)
        memory.mib = task.environment.memory_mib
        waiting.result(timeout=10)
    second.close()


def test_a_cancelled_run_keeps_nobody_waiting(task):
    cancel = Event()
    admission = Admission(cancel, Memory(1))
    cancel.set()
    with admission.admitted(task), admission.admitted(task):
        pass
