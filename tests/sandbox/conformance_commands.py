"""Running a command: its exit code, its output, its input, its environment and its folder."""

import os
from pathlib import PurePosixPath

import pytest

from agentbench.sandbox.interface import Command, Sandbox, Stream
from agentbench.scoring.evidence import Ending
from tests.sandbox.conformance_base import PATIENCE, Conformance, python, sh

OWN_NAMES = {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_", "TZ"} | {
    *("USER", "LOGNAME", "HOSTNAME", "TERM", "TMPDIR"),
}
OWN_PREFIXES = ("PYTHON", "PIP_", "SSL_", "GIT_", "AGENTBENCH_", "VIRTUAL_")


class CommandConformance(Conformance):
    """What `run` hands in and brings back."""

    @pytest.mark.parametrize("code", [0, 1, 3, 126, 127])
    def test_exit_code_is_returned(self, sandbox: Sandbox, code: int) -> None:
        result = sh(sandbox, f"exit {code}")
        assert (result.ending, result.exit_code, result.signal) == (Ending.EXITED, code, None)
        assert result.ok == (code == 0)

    def test_a_program_that_does_not_exist_exits_127(self, sandbox: Sandbox) -> None:
        result = sandbox.run(Command(argv=("no-such-program", "x"), timeout=PATIENCE))
        assert (result.ending, result.exit_code) == (Ending.EXITED, 127)

    def test_a_program_that_may_not_be_executed_exits_126(self, sandbox: Sandbox) -> None:
        sh(sandbox, "printf '#!/bin/sh\\n' > plain && chmod 644 plain")
        result = sandbox.run(Command(argv=(f"{sandbox.workspace}/plain",), timeout=PATIENCE))
        assert (result.ending, result.exit_code) == (Ending.EXITED, 126)

    def test_missing_working_folder_starts_nothing(self, sandbox: Sandbox) -> None:
        nowhere = sandbox.workspace / "no" / "such"
        result = sandbox.run(Command(argv=("true",), cwd=nowhere, timeout=PATIENCE))
        assert result.ending is Ending.EXITED
        assert result.exit_code in (126, 127)

    def test_arguments_arrive_unchanged(self, sandbox: Sandbox) -> None:
        given = ("", "a b", "$HOME", "*", "-x", "--", "ü\n", "'\"\\")
        result = python(sandbox, "import sys; print(ascii(sys.argv[1:]))", *given)
        assert result.stdout == ascii(list(given)) + "\n"
        assert result.argv[-len(given) :] == given

    def test_output_and_errors_are_kept_apart(self, sandbox: Sandbox) -> None:
        result = sh(sandbox, "echo out; echo err >&2")
        assert (result.stdout, result.stderr) == ("out\n", "err\n")
        assert result.output_bytes == len("out\nerr\n")

    def test_five_megabytes_of_output_arrive(self, sandbox: Sandbox) -> None:
        result = python(sandbox, "for n in range(500_000): print(f'{n:09}')")
        assert not result.truncated
        assert result.stdout == "".join(f"{n:09}\n" for n in range(500_000))

    def test_output_above_the_cap_loses_its_middle(self, sandbox: Sandbox) -> None:
        script = "import sys; sys.stdout.write('head' + 'x' * 1_000_000 + 'tail')"
        argv = ("python", "-c", script)
        result = sandbox.run(Command(argv=argv, timeout=PATIENCE, output_cap=10_000))
        assert result.ok
        assert result.truncated
        assert result.stdout.startswith("headxxx")
        assert result.stdout.endswith("xxxtail")
        assert 10_000 <= len(result.stdout) < 10_200  # and a word on the cut
        assert result.output_bytes == 1_000_008

    def test_a_stream_at_its_cap_is_not_cut_by_the_other_one(self, sandbox: Sandbox) -> None:
        script = "import sys; sys.stderr.write('e' * 10_000); sys.stdout.write('short')"
        argv = ("python", "-c", script)
        result = sandbox.run(Command(argv=argv, timeout=PATIENCE, output_cap=10_000))
        assert (result.stdout, result.stderr, result.truncated) == ("short", "e" * 10_000, False)

    def test_undecodable_bytes_are_replaced(self, sandbox: Sandbox) -> None:
        result = sh(sandbox, r"printf 'a\377b\303'")
        assert result.stdout == "a\ufffdb\ufffd"

    def test_sink_gets_each_chunk_at_once(self, sandbox: Sandbox) -> None:
        seen: dict[Stream, bytes] = {Stream.STDOUT: b"", Stream.STDERR: b""}

        def keep(stream: Stream, chunk: bytes) -> None:
            seen[stream] += chunk

        script = "import sys; sys.stdout.write('o' * 100_000); sys.stderr.write('e')"
        argv = ("python", "-c", script)
        sandbox.run(Command(argv=argv, timeout=PATIENCE, sink=keep, output_cap=100))
        assert seen == {Stream.STDOUT: b"o" * 100_000, Stream.STDERR: b"e"}

    def test_input_arrives_and_ends(self, sandbox: Sandbox) -> None:
        given = bytes(range(256)) * 4096  # more than any pipe holds
        result = sh(sandbox, "cksum; wc -c", stdin=given)
        assert result.stdout.split()[1] == str(len(given))

    def test_command_without_input_reads_end_of_file(self, sandbox: Sandbox) -> None:
        assert sh(sandbox, "cat; echo done").stdout == "done\n"

    def test_unread_input_is_ignored(self, sandbox: Sandbox) -> None:
        assert sh(sandbox, "exit 0", stdin=b"x" * 1_000_000).ok

    def test_the_given_environment_arrives_exactly(self, sandbox: Sandbox) -> None:
        env = {"EMPTY": "", "LINES": "a\nb", "EQUALS": "a=b=c", "WORD": "süß", "PATH": "/x"}
        script = "import os, sys; print(ascii([os.environ.get(n) for n in sys.argv[1:]]))"
        program = sh(sandbox, "command -v python").stdout.strip()
        argv = (program, "-c", script, *env)
        result = sandbox.run(Command(argv=argv, timeout=PATIENCE, env=env))
        assert result.stdout == ascii(list(env.values())) + "\n"

    def test_host_environment_is_not_inherited(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "host-secret")
        monkeypatch.setenv("PYTHONSTARTUP", "host-secret")
        result = python(sandbox, "import os; print(*os.environ, sep='\\n'); print(os.environ)")
        assert "host-secret" not in result.stdout
        foreign = [
            name
            for name in result.stdout.splitlines()
            if name in os.environ and name not in OWN_NAMES and not name.startswith(OWN_PREFIXES)
        ]
        assert foreign == []

    def test_home_is_writable(self, sandbox: Sandbox) -> None:
        assert sh(sandbox, 'test "$HOME" && touch "$HOME/x" && cat "$HOME/x"').ok

    def test_command_runs_in_the_workspace_by_default(self, sandbox: Sandbox) -> None:
        assert PurePosixPath(sh(sandbox, "pwd -P").stdout.strip()) == sandbox.workspace
        sh(sandbox, "mkdir -p 'deep er'")
        deeper = sandbox.workspace / "deep er"
        result = sandbox.run(Command(argv=("pwd",), cwd=deeper, timeout=PATIENCE))
        assert PurePosixPath(result.stdout.strip()) == deeper

    def test_files_last_from_one_command_to_the_next(self, sandbox: Sandbox) -> None:
        sh(sandbox, "echo 1 > here; echo 2 > ${TMPDIR:-/tmp}/there")
        assert sh(sandbox, "cat here ${TMPDIR:-/tmp}/there").stdout == "1\n2\n"

    def test_python_git_and_pytest_are_on_the_path(self, sandbox: Sandbox) -> None:
        result = sh(sandbox, "python --version && git --version && python -m pytest --version")
        assert result.ok, result.stderr

    def test_a_back_end_that_works_passes_its_check(self, provider):
        provider.check()

    def test_disk_folders_exist_on_this_machine(self, provider, image):
        del image  # made there
        assert all(place.is_dir() for place in provider.disk_folders)
