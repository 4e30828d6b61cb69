import pytest

from agentbench.agents.llm_extra import CLIENTS, GATEWAY, require
from agentbench.errors import UsageError


@pytest.mark.parametrize("libraries", [GATEWAY, CLIENTS])
def test_what_the_extra_brings_is_there_with_the_extra(libraries):
    require("this", libraries)


def test_what_is_missing_is_named_with_the_line_that_installs_it():
    with pytest.raises(UsageError) as refused:
        require("--model", ("httpx2", "no_such_library"))
    said = "--model needs no_such_library, found none: pip install 'agentbench[llm]'"
    assert str(refused.value) == said
