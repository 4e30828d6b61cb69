"""Jobs of a running service: submitted, waited for, cancelled, and left to the next start."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from agentbench.core.host import default_cache_dir
from agentbench.sandbox.cleanup import find_dead_orphans
from tests.e2e.small_task import FIXED
from tests.extensions.service.conftest import StartService
from tests.extensions.service.running import ServiceProcess
from tests.fakes.staging import own_task
from tests.judge.conftest import FIX, HALF, SLOW, patch_to
from tests.patience import wait_until

pytestmark = pytest.mark.full


def tar_of(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("patch", "reward", "reason"),
    [
        (FIX, 1.0, None),
        (HALF, 0.0, "TESTS_FAILED"),
        ("no patch", 0.0, "TOOL_ERROR"),
        ("half of a pair: \ud800", 0.0, "TOOL_ERROR"),
    ],
    ids=["fix", "half", "no patch", "no text"],
)
def test_a_patch_gets_its_verdict_and_its_record(
    service: ServiceProcess, patch: str, reward: float, reason: str | None
) -> None:
    submitted = service.submit(patch)
    assert submitted["state"] == "queued"
    job = service.ended(submitted["id"])
    verdict = job["verdict"]
    assert (job["state"], verdict["reward"], verdict["reason"]) == ("done", reward, reason)
    (start,) = job["starts"]
    assert (start["run_id"], start["attempt"]) == (verdict["run_id"], verdict["attempt"])
    record = service.request("GET", f"/v1/jobs/{job['id']}/record").json()
    assert (record["run_id"], record["failure_reason"]) == (verdict["run_id"], reason)


def test_a_tree_gets_its_verdict(service: ServiceProcess) -> None:
    content = tar_of({"basket.py": FIXED})
    answer = service.request(
        "POST",
        "/v1/jobs/tree?task=small",
        content=content,
        headers={"Content-Type": "application/x-tar"},
    )
    assert answer.status_code == 202
    assert service.ended(answer.json()["id"])["verdict"]["fixed"] == 2


def test_a_patch_that_is_not_utf_8_is_submitted_in_base64(service: ServiceProcess) -> None:
    body = {"task": "small", "patch_base64": "/w=="}
    job = service.ended(service.request("POST", "/v1/jobs", json=body).json()["id"])
    assert job["verdict"]["reason"] == "TOOL_ERROR"


def test_a_repeated_request_gets_the_same_job(service: ServiceProcess) -> None:
    headers = {"Idempotency-Key": "again"}
    body = {"task": "small", "patch": FIX}
    first = service.request("POST", "/v1/jobs", json=body, headers=headers)
    again = service.request("POST", "/v1/jobs", json=body, headers=headers)
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]
    assert first.headers["location"] == f"/v1/jobs/{first.json()['id']}"
    other = service.request("POST", "/v1/jobs", json=body | {"patch": HALF}, headers=headers)
    assert (other.status_code, other.json()["type"]) == (422, "/problems/key-reused")


def test_events_tell_the_states_until_the_end(service: ServiceProcess) -> None:
    job_id = service.submit(FIX)["id"]
    text = service.request("GET", f"/v1/jobs/{job_id}/events").text
    names = [line[7:] for line in text.splitlines() if line.startswith("event: ")]
    assert names[-1] == "done"
    assert names == [name for name in ("queued", "running", "done") if name in names]
    data = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert data[-1]["verdict"]["reward"] == 1.0
    unknown = service.request("GET", "/v1/jobs/nothing/events")
    assert (unknown.status_code, unknown.json()["type"]) == (404, "/problems/unknown-job")


def test_a_client_finds_the_ended_jobs_of_its_group(service: ServiceProcess) -> None:
    ids = {service.submit(patch, group="mine")["id"] for patch in (FIX, HALF)}
    service.submit(FIX, group="others")
    found, last = set(), 0
    while len(found) < len(ids):
        path = f"/v1/jobs?group=mine&after={last}&wait=60"
        answer = service.request("GET", path).json()
        found |= {job["id"] for job in answer["jobs"]}
        last = answer["last"]
    assert found == ids
    nothing = service.request("GET", f"/v1/jobs?group=mine&after={last}").json()
    assert nothing == {"jobs": [], "last": last}


def test_a_running_job_and_a_waiting_one_can_be_cancelled(service: ServiceProcess) -> None:
    running = service.submit(SLOW, task="slow")["id"]
    wait_until(lambda: service.job(running)["state"] == "running")
    waiting = [service.submit(SLOW, task="slow", group="mine-too")["id"] for _ in range(9)]
    one = service.request("DELETE", f"/v1/jobs/{waiting[0]}").json()
    assert one["state"] == "cancelled"
    assert service.request("DELETE", "/v1/jobs?group=mine-too").json() == {"cancelled": 8}
    assert service.request("DELETE", f"/v1/jobs/{running}").json()["state"] == "cancelled"
    jobs = [service.ended(each) for each in (running, *waiting)]
    assert {(job["state"], job["verdict"]) for job in jobs} == {("cancelled", None)}
    again = service.request("DELETE", f"/v1/jobs/{running}")
    assert (again.status_code, again.json()["state"]) == (200, "cancelled")
    assert service.ended(service.submit(FIX)["id"])["verdict"]["reward"] == 1.0


def test_a_deadline_gives_no_reward(service: ServiceProcess) -> None:
    job = service.ended(service.submit(SLOW, task="slow", deadline=0.5)["id"])
    verdict = job["verdict"]
    assert (job["state"], verdict["reward"], verdict["reason"]) == ("done", None, "INTERRUPTED")
    assert verdict["retryable"]


def test_a_fault_of_the_task_is_no_reward_of_zero(
    start_service: StartService, tmp_path: Path
) -> None:
    own_task(tmp_path / "tasks" / "small", setup='commands = ["exit 3"]')
    service = start_service(tasks=tmp_path / "tasks")
    verdict = service.ended(service.submit(FIX)["id"])["verdict"]
    assert (verdict["reward"], verdict["fault"]) == (None, "task")


def test_equal_changes_get_the_stored_verdict(start_service: StartService) -> None:
    service = start_service(caches=True)
    patch = patch_to(FIXED + "# for this test only: " + service.folder.as_posix() + "\n")
    first = service.ended(service.submit(patch)["id"])
    again = service.ended(service.submit(patch)["id"])
    fresh = service.ended(service.submit(patch, fresh=True)["id"])
    assert [job["verdict"]["from_cache"] for job in (first, again, fresh)] == [False, True, False]
    assert [len(job["starts"]) for job in (first, again, fresh)] == [1, 0, 1]
    assert len(service.records()) == 2


def test_a_stop_ends_what_runs_and_leaves_the_rest_to_the_next_start(
    start_service: StartService,
) -> None:
    service = start_service("--drain", 100, "--jobs", 1)
    running = service.submit(FIX)["id"]
    wait_until(lambda: service.job(running)["state"] != "queued")
    waiting = [service.submit(HALF)["id"] for _ in range(4)]
    assert service.stop() == 0
    assert "finishing what runs" in service.log
    service.start()
    jobs = [service.ended(each) for each in (running, *waiting)]
    assert [job["verdict"]["reward"] for job in jobs] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert [len(job["starts"]) for job in jobs] == [1] * 5
    assert len({job["verdict"]["run_id"] for job in jobs}) == 2


def test_a_stopping_service_accepts_nothing_and_a_second_signal_ends_it(
    start_service: StartService,
) -> None:
    service = start_service("--drain", 1000)
    job = service.submit(SLOW, task="slow")["id"]
    wait_until(lambda: service.job(job)["state"] == "running")
    service.process.terminate()
    wait_until(lambda: service.request("GET", "/v1/status").json()["is_draining"])
    refused = service.request("POST", "/v1/jobs", json={"task": "small", "patch": FIX})
    assert (refused.status_code, refused.json()["type"]) == (503, "/problems/draining")
    assert refused.headers["retry-after"] == "10"
    assert service.stop() == 130
    assert not find_dead_orphans(default_cache_dir())
    service.start()
    found = service.job(job)
    assert found["state"] in {"queued", "running"}
    service.request("DELETE", f"/v1/jobs/{job}")


def test_a_changed_task_does_not_judge_jobs_for_the_old_one(
    start_service: StartService, tmp_path: Path
) -> None:
    own_task(tmp_path / "tasks" / "small")
    service = start_service("--jobs", 1, tasks=tmp_path / "tasks")
    service.submit(SLOW)
    waiting = service.submit(FIX)["id"]
    service.stop()
    own_task(tmp_path / "tasks" / "small", setup='commands = ["true"]')
    service.start()
    job = service.ended(waiting)
    assert (job["state"], job["error"]["type"]) == ("failed", "/problems/task-changed")


def test_too_many_waiting_jobs_are_refused(start_service: StartService) -> None:
    service = start_service("--jobs", 1, "--max-jobs", 2, "--drain", 0)
    first = service.submit(SLOW, task="slow")["id"]
    wait_until(lambda: service.job(first)["state"] == "running")
    for _ in range(2):
        service.submit(FIX)
    refused = service.request("POST", "/v1/jobs", json={"task": "small", "patch": FIX})
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-jobs")


def test_metrics_count_what_ended(service: ServiceProcess) -> None:
    service.ended(service.submit(FIX)["id"])
    lines = service.request("GET", "/metrics").text.splitlines()
    resolved = 'agentbench_jobs_total{outcome="resolved",reason=""} '
    (count,) = [float(line[len(resolved) :]) for line in lines if line.startswith(resolved)]
    assert count >= 1
    assert any(line.startswith("agentbench_jobs_queued ") for line in lines)
    assert any(
        line.startswith("agentbench_http_requests_total{") and 'route="/v1/jobs/{job_id}"' in line
        for line in lines
    )
