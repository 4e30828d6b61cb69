import sys

import pytest
from packaging.requirements import Requirement

from agentbench.validation.environment.install_strategies import (
    DISTRIBUTION_OF_MODULE,
    PLUGINS_BY_FIXTURE,
    PLUGINS_BY_MARK,
    PLUGINS_BY_SETTING,
)


@pytest.mark.parametrize(
    "table", [DISTRIBUTION_OF_MODULE, PLUGINS_BY_FIXTURE, PLUGINS_BY_MARK, PLUGINS_BY_SETTING]
)
def test_every_name_leads_to_a_requirement(table):
    assert [str(Requirement(text)) for text in table.values()] == list(table.values())


def test_no_module_of_python_itself_is_said_to_be_brought():
    assert DISTRIBUTION_OF_MODULE.keys().isdisjoint(sys.stdlib_module_names)
