"""The same clients through another back end: nothing of theirs depends on containers."""

import pytest

from tests.e2e.clients.clients import CLIENTS, SEEN, SHIPPED, after_stumbles, shipped_edit

pytestmark = pytest.mark.first

NAMES = (pytest.param("claude-code", marks=pytest.mark.soak), "codex")


@pytest.mark.parametrize("name", NAMES)
def test_it_solves_a_shipped_task_though_its_model_stumbles(name, walled_bench, trial, catalogue):
    client = CLIENTS[name]
    answers = after_stumbles(client, shipped_edit(catalogue))
    done = trial(walled_bench, client, catalogue / SHIPPED, answers)
    assert done.record.resolved, done.record.detail
    assert done.errors == {"rate_limit": 1, "cut_stream": 1}
    assert done.record.findings == ()
    assert any(SEEN in asked.raw for asked in done.server.asked)
