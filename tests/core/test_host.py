from pathlib import Path

import pytest

from agentbench.core.host import default_cache_dir, usable_cache_dir
from agentbench.errors import UsageError


def test_the_cache_is_where_the_user_says_else_where_caches_are():
    everything = {"AGENTBENCH_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}
    assert default_cache_dir(everything) == Path("/a")
    assert default_cache_dir({**everything, "AGENTBENCH_CACHE": ""}) == Path("/b/agentbench")
    assert default_cache_dir({"HOME": "/c"}) == Path("/c/.cache/agentbench")


def test_without_a_variable_it_is_in_the_home_of_the_user():
    assert default_cache_dir({}) == Path.home() / ".cache" / "agentbench"


def test_a_cache_that_is_used_is_made(tmp_path):
    wanted = tmp_path / "new" / "cache"
    assert usable_cache_dir({"AGENTBENCH_CACHE": str(wanted)}) == wanted
    assert wanted.is_dir()


def test_a_cache_that_cannot_be_is_wrong_usage(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="set AGENTBENCH_CACHE to a folder"):
        usable_cache_dir({"AGENTBENCH_CACHE": str(tmp_path / "file" / "cache")})
