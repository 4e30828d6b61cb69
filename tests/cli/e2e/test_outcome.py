import pytest
import typer

from agentbench.agents.reference import NoopAgent
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import execute_run
from agentbench.runs.options import RunOptions
from agentbench.runs.start import start_run
from tests.fakes.staging import local_provider, small_task

pytestmark = pytest.mark.full


@pytest.fixture
def run(tmp_path):
    options = RunOptions(
        agent=NoopAgent(), sandbox=local_provider(), runs_dir=tmp_path / "runs", attempts=2, jobs=1
    )
    return start_run([small_task(tmp_path / "small")], options)


def test_a_run_that_was_stopped_says_how_to_go_on(run, capsys):
    run.cancel()
    with pytest.raises(typer.Exit) as caught:
        execute_run(run, as_json=False, quiet=True, verbose=False)
    assert caught.value.exit_code == ExitCode.INTERRUPTED
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"continue with: agentbench resume {run.store.folder}"


def test_what_was_made_before_counts_too(run, capsys):
    for record in run.attempts():
        assert record
    execute_run(run, as_json=False, quiet=True, verbose=False)
    assert capsys.readouterr().err.splitlines()[-1].startswith("resolved 0/2 ")
