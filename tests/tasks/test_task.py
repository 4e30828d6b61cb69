import pytest
from pydantic import ValidationError

from agentbench.tasks.loading import load_task
from agentbench.tasks.task import AnswerKey, RepoSource, TaskEnvironment, TaskSetup


def test_a_source_is_a_value_that_can_be_compared_and_kept(tmp_path):
    source = RepoSource(files=tmp_path)
    assert source == RepoSource(files=tmp_path)
    assert RepoSource.model_validate_json(source.model_dump_json()) == source
    assert len({source, RepoSource(files=tmp_path), RepoSource(url="x", commit="y")}) == 2


def test_a_source_has_no_branch():
    with pytest.raises(ValidationError, match="branch"):
        RepoSource.model_validate({"url": "x", "branch": "main"})


def test_a_task_has_its_problems_id(task_folder, mirrors):
    assert load_task(task_folder("some-id"), mirrors=mirrors).id == "some-id"


def test_a_task_does_not_change(task_folder, mirrors):
    task = load_task(task_folder(), mirrors=mirrors)
    with pytest.raises(ValidationError, match="frozen"):
        task.digest = "other"


def test_two_environments_share_no_variables():
    first, second = TaskEnvironment(), TaskEnvironment()
    first.env["A"] = "1"
    assert second.env == {}


def test_set_up_may_use_the_network_unless_told_otherwise():
    assert TaskSetup().network is True
    assert TaskSetup(network=False).network is False


def test_passing_tests_are_ids_or_the_baselines():
    assert AnswerKey(pass_to_pass="baseline").pass_to_pass == "baseline"
    assert AnswerKey(pass_to_pass=("a::b",)).pass_to_pass == ("a::b",)
    with pytest.raises(ValidationError):
        AnswerKey(pass_to_pass="all")


def test_a_patch_is_kept_byte_for_byte():
    patch = "-ä\r\n+ö\n".encode()
    assert AnswerKey(solution_patch=patch).solution_patch == patch
