"""The judge of a process: opened once, closed on demand, and opened again."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentbench.errors import UsageError
from agentbench.extensions.adapters.process_judge import JudgeSettings, close_judges, process_judge
from tests.fakes.staging import local_provider

pytestmark = pytest.mark.full


@pytest.fixture
def settings(tmp_path: Path) -> JudgeSettings:
    if local_provider().name == "process":
        pytest.skip("needs bubblewrap")
    return JudgeSettings(sandbox="bubblewrap", jobs=1, runs_dir=str(tmp_path / "runs"))


def test_all_threads_get_one_judge_until_it_is_closed(settings: JudgeSettings) -> None:
    with ThreadPoolExecutor(4) as threads:
        judges = set(threads.map(lambda _: process_judge(settings), range(8)))
    (judge,) = judges
    folder = judge.folder
    assert folder.is_dir()
    close_judges()
    with pytest.raises(UsageError, match="the judge is not open"):
        _ = judge.folder
    assert process_judge(settings).folder != folder
    close_judges()
    close_judges()  # none is left


def test_wrong_setting_is_refused(settings: JudgeSettings) -> None:
    with pytest.raises(UsageError, match="reward: expected one of resolved, fixed-share"):
        process_judge(JudgeSettings(sandbox=settings.sandbox, reward="best"))
