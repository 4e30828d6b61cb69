"""The back ends of the end-to-end tests, for the corpus of behaviour."""

import pytest

from tests.e2e import conftest as shared
from tests.e2e.clients import conftest as clients
from tests.extensions.behaviour.corpora.attempts import KEY

bubblewrap = shared.bubblewrap
cache_dir = shared.cache_dir
docker = shared.docker
toolboxes = clients.toolboxes
trial = clients.trial


@pytest.fixture(autouse=True)
def _model_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
