import pytest

from agentbench.extensions.swebench.environments import UnknownEnvironmentError
from agentbench.extensions.swebench.importing import InstanceEnvironmentFinder
from agentbench.extensions.swebench.instance import parse_instance
from agentbench.runs.options import RunOptions
from agentbench.tasks.dataset_rows import DatasetRow
from agentbench.validation.environment.trials import EnvironmentFinder
from tests.extensions.swebench.instances import Project
from tests.fakes.staging import local_provider, mirrors

pytestmark = pytest.mark.full


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "repos")


@pytest.fixture
def detect(tmp_path):
    options = RunOptions(sandbox=local_provider().name, runs_dir=tmp_path / "runs")
    finder = InstanceEnvironmentFinder(
        EnvironmentFinder(options), mirrors(), repos=tmp_path / "repos"
    )
    return lambda fields: finder.detect(
        parse_instance(DatasetRow(where="in.jsonl:1", value=fields))
    )


def test_the_tests_of_an_instance_run_on_its_fix_in_what_is_found(detect, project):
    found = detect(project.instance())
    assert found.command.startswith("python -m pytest")
    assert found.files == {}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"base_commit": "0" * 40}, "no set-up that was tried works: 0000"),
        ({"repo": "Acme/empty"}, "its set-up cannot be tried: "),
        ({"patch": "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}, "x"),
    ],
)
def test_what_cannot_be_tried_says_why(detect, project, tmp_path, changes, why):
    (tmp_path / "repos/Acme/empty").mkdir()
    with pytest.raises(UnknownEnvironmentError, match=why):
        detect(project.instance(**changes))


def test_an_instance_whose_patch_makes_the_bug_is_not_tried(detect, project):
    assert detect(project.smith()) is None
