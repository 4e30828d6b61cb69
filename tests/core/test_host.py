from pathlib import Path

import pytest

from agentbench.core.host import default_cache_dir, usable_cache_dir
from agentbench.errors import UsageError


def test_cache_folder_follows_the_variables():
    everything = {"AGENTBENCH_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}
    assert default_cache_dir(everything) == Path("/a")
    assert default_cache_dir({**everything, "AGENTBENCH_CACHE": ""}) == Path("/b/agentbench")
    assert default_cache_dir({"HOME": "/c"}) == Path("/c/.cache/agentbench")


def test_cache_folder_defaults_to_home():
    assert default_cache_dir({}) == Path.home() / ".cache" / "agentbench"


def test_usable_cache_folder_is_created(tmp_path):
    wanted = tmp_path / "new" / "cache"
    assert usable_cache_dir({"AGENTBENCH_CACHE": str(wanted)}) == wanted
    assert wanted.is_dir()


def test_a_cache_that_cannot_be_is_wrong_usage(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="set AGENTBENCH_CACHE to a folder"):
        usable_cache_dir({"AGENTBENCH_CACHE": str(tmp_path / "file" / "cache")})
