import pytest
from pydantic import ValidationError

from agentbench.tasks.task import RepoSource


def test_a_source_is_a_value_that_can_be_compared_and_kept(tmp_path):
    source = RepoSource(files=tmp_path)
    assert source == RepoSource(files=tmp_path)
    assert RepoSource.model_validate_json(source.model_dump_json()) == source
    assert len({source, RepoSource(files=tmp_path), RepoSource(url="x", commit="y")}) == 2


def test_a_source_has_no_branch():
    with pytest.raises(ValidationError, match="branch"):
        RepoSource.model_validate({"url": "x", "branch": "main"})
