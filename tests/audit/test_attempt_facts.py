from agentbench.audit.run_facts import open_run, read_attempt
from tests.audit.conftest import attempt_of
from tests.e2e.small_task import BUGGY


def test_an_attempt_is_read_with_its_files_and_task(run_folder):
    facts = attempt_of(run_folder)
    assert [file.path for file in facts.patch] == ["basket.py"]
    assert facts.raw_patch == facts.patch
    assert facts.before("basket.py") == BUGGY.encode()
    assert facts.before("none.py") is None
    assert "stdout" in facts.log
    assert facts.read("final.json").startswith(b"{")


def test_without_task_or_files_there_is_less(run_folder):
    for path in run_folder.glob("attempts/small/1/**/*"):
        if path.is_file():
            path.unlink()
    run = open_run(run_folder)
    facts = read_attempt(run, run.latest[0], None)
    assert (facts.patch, facts.log, facts.before("basket.py")) == ((), "", None)
