"""The web page for tests outside its extension, which leave it out if it is deleted."""

from importlib.util import find_spec
from pathlib import Path

IS_THERE = find_spec("agentbench.extensions.view") is not None


def page_text(folder: Path, address: str) -> str:
    """The HTML of a page over a folder of runs."""
    from tests.extensions.view.conftest import client_of

    return client_of(folder).get(address).text
