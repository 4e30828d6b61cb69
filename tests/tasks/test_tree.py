import pytest

from agentbench.errors import InputError
from agentbench.tasks.git_history import mirror_of_head, write_commit_files
from tests.fakes.staging import mirrors
from tests.tasks.origins import Origin


def test_the_files_are_those_of_the_commit(pocket, head, tmp_path):
    write_commit_files(head, pocket.commits["begin"], tmp_path / "tree")
    found = {path.name for path in (tmp_path / "tree").rglob("*") if path.is_file()}
    assert found == {"basket.py", "test_basket.py"}


def test_what_archives_leave_out_is_there(tmp_path):
    origin = Origin(tmp_path / "odd")
    origin.write(".gitattributes", "tests export-ignore\nrun.sh export-subst\n")
    origin.write("tests/test_a.py", "A = 1\n")
    origin.write("run.sh", "$Format:%H$\n")
    (origin.path / "run.sh").chmod(0o755)
    commit = origin.commit()
    write_commit_files(mirror_of_head(origin.url, mirrors()), commit, tmp_path / "tree")
    assert (tmp_path / "tree/tests/test_a.py").read_text() == "A = 1\n"
    assert (tmp_path / "tree/run.sh").read_text() == "$Format:%H$\n"
    assert (tmp_path / "tree/run.sh").stat().st_mode & 0o100


def test_a_commit_that_is_not_there_is_refused(head, tmp_path):
    with pytest.raises(InputError, match="cannot be checked out"):
        write_commit_files(head, "0" * 40, tmp_path / "tree")
