from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.history.environments import Environments
from agentbench.tasks.history.commit import find_commit
from agentbench.tasks.history.fix import read_fix
from agentbench.tasks.history.tree import write_files_of
from agentbench.tasks.task_file import PytestTable


def test_what_is_given_is_not_looked_for(pocket, head, options, tmp_path):
    given = Proposal(tests=PytestTable(command="pytest -q"))
    fix = read_fix(head, find_commit(head, pocket.commits["fix"]))
    assert Environments(options, given).of(fix, tmp_path) is given


def test_what_was_found_for_one_commit_holds_for_those_like_it(pocket, head, options, tmp_path):
    fix = read_fix(head, find_commit(head, pocket.commits["fix"]))
    write_files_of(head, fix.base, tmp_path / "files")
    environments = Environments(options)
    found = environments.of(fix, tmp_path / "files")
    assert environments.of(fix, tmp_path / "files") is found
