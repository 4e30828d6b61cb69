"""A service that is killed again and again: no job is lost, and none is judged twice unseen."""

import random
import time
from collections import Counter

import pytest

from agentbench.core.host import default_cache_dir
from agentbench.sandbox.cleanup import find_dead_orphans
from tests.extensions.service.conftest import StartService
from tests.judge.conftest import FIX, HALF

pytestmark = pytest.mark.full

_KILLS = 10
_JOBS_PER_KILL = 3


def test_kills_lose_no_job_and_hide_no_second_judgement(start_service: StartService) -> None:
    chance = random.Random(24)
    service = start_service()
    expected: dict[str, float] = {}
    for _ in range(_KILLS):
        for _ in range(_JOBS_PER_KILL):
            patch, reward = chance.choice([(FIX, 1.0), (HALF, 0.0)])
            expected[service.submit(patch, fresh=True)["id"]] = reward
        time.sleep(chance.uniform(0.0, 1.0))  # where the kill comes is left to chance
        service.kill()
        service.start()
    jobs = {job_id: service.ended(job_id) for job_id in expected}
    assert {job_id: job["verdict"]["reward"] for job_id, job in jobs.items()} == expected
    started = Counter(
        (each["run_id"], each["attempt"]) for j in jobs.values() for each in j["starts"]
    )
    recorded = Counter((each["run_id"], each["attempt"]) for each in service.records())
    assert set(started.values()) == {1}
    assert recorded <= started  # every record belongs to a start that its job shows
    for job in jobs.values():
        last = job["starts"][-1]
        judged_in = (job["verdict"]["run_id"], job["verdict"]["attempt"])
        assert judged_in == (last["run_id"], last["attempt"])
    service.stop()
    service.start()  # removes what the killed ones left
    service.stop()
    assert not find_dead_orphans(default_cache_dir())
