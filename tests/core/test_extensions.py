import re

import pytest

from agentbench.core import extensions
from agentbench.core.extensions import Slot, load_offer, offers
from agentbench.errors import UsageError


@pytest.fixture
def deleted(tmp_path, monkeypatch):
    """No extension is there."""
    monkeypatch.setattr(extensions, "_FOLDER", tmp_path)
    offers.cache_clear()
    yield
    offers.cache_clear()


@pytest.mark.usefixtures("deleted")
@pytest.mark.parametrize("slot", Slot)
def test_without_extensions_a_table_has_no_rows_of_theirs(slot):
    assert offers(slot) == {}


@pytest.mark.usefixtures("deleted")
def test_missing_extension_row_is_refused():
    message = "--executor ray: expected an extension that offers 'ray', found none"
    with pytest.raises(UsageError, match=re.escape(message)):
        load_offer(Slot.EXECUTOR, "ray", "--executor ray")
