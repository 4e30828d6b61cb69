import pytest

from agentbench.errors import UsageError
from agentbench.report.report_extra import JUNIT, STATISTICS, is_there, require


def test_what_is_installed_is_there():
    assert is_there((*STATISTICS, *JUNIT))
    require("a report", (*STATISTICS, *JUNIT))


def test_what_is_missing_is_named_with_what_to_install():
    libraries = ("scipy", "no_such_library")
    assert not is_there(libraries)
    with pytest.raises(UsageError) as told:
        require("agentbench compare", libraries)
    assert str(told.value) == (
        "agentbench compare needs no_such_library, found none: pip install 'agentbench[report]'"
    )
