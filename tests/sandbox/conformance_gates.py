"""Commands that start before their input is there."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from threading import Event

import pytest

from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.gate import Gate
from agentbench.sandbox.interface import Command, ImageId, Sandbox, SandboxProvider
from agentbench.scoring.evidence import CommandResult, Ending
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.conformance_base import LIMITS, PATIENCE, Conformance, python, sh
from tests.sandbox.conformance_endings import ASK, HOLD
from tests.sandbox.conformance_trees import tar_of, tree_of


@dataclass(frozen=True)
class Waiting:
    """A command that waits at its gate."""

    gate: Gate
    running: Future[CommandResult]

    def result(self) -> CommandResult:
        """Open the gate, and wait for the end."""
        self.gate.open()
        return self.running.result(HANG_SECONDS)


@contextmanager
def waiting(
    sandbox: Sandbox, script: str, *, stdin: bytes = b"", timeout: timedelta = PATIENCE
) -> Iterator[Waiting]:
    """A script that has started; it is abandoned at the end."""
    argv = ("sh", "-c", f"touch {sandbox.results}/started; {script}")
    with Gate() as gate, ThreadPoolExecutor(1) as pool:
        command = Command(argv=argv, timeout=timeout, stdin=stdin, gate=gate)
        running = pool.submit(sandbox.run, command)
        try:
            wait_until(lambda: "started" in tree_of(sandbox, sandbox.results))
            yield Waiting(gate, running)
        finally:
            gate.abandon()


class GateConformance(Conformance):
    """A command with a gate starts at once, and goes on when the gate opens."""

    def test_what_waits_gets_its_input_when_the_gate_opens(self, fresh: Sandbox) -> None:
        with waiting(fresh, "cat; echo err >&2; exit 3", stdin=b"in\n" * 50_000) as command:
            assert not command.running.done()
            result = command.result()
        assert (result.ending, result.exit_code) == (Ending.EXITED, 3)
        assert (result.stdout, result.stderr) == ("in\n" * 50_000, "err\n")

    def test_without_input_it_sees_the_end_of_it(self, fresh: Sandbox) -> None:
        with waiting(fresh, "cat; echo over") as command:
            assert command.result().stdout == "over\n"

    def test_a_gate_that_is_open_already_holds_nothing_back(self, fresh: Sandbox) -> None:
        with Gate() as gate:
            gate.open()
            command = Command(argv=("cat",), timeout=PATIENCE, stdin=b"in", gate=gate)
            assert fresh.run(command).stdout == "in"

    def test_its_time_counts_from_the_opening(self, fresh: Sandbox) -> None:
        with waiting(fresh, "cat") as command:
            opened = time.monotonic()
            result = command.result()
        assert result.duration.total_seconds() <= time.monotonic() - opened

    def test_its_time_limit_holds_after_the_opening(self, fresh: Sandbox) -> None:
        limit = timedelta(milliseconds=1)  # shorter than its start takes
        with waiting(fresh, "cat; sleep 1000", timeout=limit) as command:
            assert command.result().ending is Ending.TIMED_OUT

    def test_files_and_commands_may_come_before_the_opening(self, fresh: Sandbox) -> None:
        with waiting(fresh, "cat - new.txt old.txt", stdin=b"in ") as command:
            assert sh(fresh, "echo old > old.txt; rm -f new.txt").ok
            fresh.write_tree(fresh.workspace, tar_of({"new.txt": (0o644, b"new ")}))
            assert sh(fresh, "cat new.txt").stdout == "new "
            result = command.result()
        assert (result.ending, result.stdout) == (Ending.EXITED, "in new old\n")

    def test_it_may_change_the_environment_after_other_commands(self, fresh: Sandbox) -> None:
        prefix = "$(python -c 'import sys; print(sys.prefix)')"
        change = f'cat; file={prefix}/pyvenv.cfg; echo >> "$file" && rm "$file"'
        with waiting(fresh, f'{change} && ! test -e "$file" && echo done') as command:
            assert sh(fresh, 'python -c "import json"').ok
            result = command.result()
        assert result.stdout == "done\n", result

    def test_one_that_ends_before_the_opening_keeps_its_exit_code(self, fresh: Sandbox) -> None:
        with waiting(fresh, "echo early; exit 3") as command:
            result = command.result()
        assert (result.stdout, result.exit_code) == ("early\n", 3)

    def test_one_whose_gate_stays_shut_is_ended(self, fresh: Sandbox) -> None:
        sh(fresh, "cat > hold.py", stdin=HOLD.encode())
        with waiting(fresh, "exec python hold.py plain") as command:
            wait_until(lambda: "plain" in tree_of(fresh, fresh.workspace))
            command.gate.abandon()
            with pytest.raises(RunCancelled):
                command.running.result(HANG_SECONDS)
            assert not command.gate.is_open
        assert python(fresh, ASK, "plain").stdout == ""

    def test_the_end_of_the_sandbox_ends_it(self, fresh: Sandbox) -> None:
        with waiting(fresh, "cat") as command:
            fresh.kill()
            with pytest.raises(SandboxError):
                command.running.result(HANG_SECONDS)

    def test_the_end_of_the_run_ends_it(self, provider: SandboxProvider, image: ImageId) -> None:
        cancel = Event()
        with (
            provider.open(image, limits=LIMITS, network=False, cancel=cancel) as sandbox,
            waiting(sandbox, "cat") as command,
        ):
            cancel.set()
            with pytest.raises(RunCancelled):
                command.running.result(HANG_SECONDS)
