import pytest

from agentbench.core import extras
from agentbench.core.extras import Extra, install_command, is_installed, require
from agentbench.errors import UsageError

EXTRAS = [value for value in vars(extras).values() if isinstance(value, Extra)]


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_installed_is_there(extra):
    assert is_installed(extra)
    require("this", extra)


def test_what_is_missing_is_named_with_what_to_install():
    extra = Extra("report", ("scipy", "no_such_library"))
    assert not is_installed(extra)
    with pytest.raises(UsageError) as told:
        require("agentbench compare", extra)
    assert str(told.value) == (
        "agentbench compare needs no_such_library, found none: " + install_command("report")
    )
