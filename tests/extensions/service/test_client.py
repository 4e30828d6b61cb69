import asyncio
import socket
import threading
from concurrent.futures import CancelledError
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from agentbench import RemoteJudge, Submission
from agentbench.errors import InputError, SandboxError, UnavailableError, UsageError
from agentbench.extensions.adapters.trl_reward import JudgedReward
from agentbench.tasks.task import Task
from tests.e2e.small_task import FIXED
from tests.extensions.service.conftest import StartService
from tests.extensions.service.running import ServiceProcess
from tests.fakes.staging import own_task
from tests.judge.conftest import FIX, HALF, SLOW
from tests.patience import wait_until

pytestmark = pytest.mark.full


@pytest.fixture
def judge(service: ServiceProcess):
    with RemoteJudge(service.url, token="secret") as opened:
        yield opened


def test_changes_get_their_verdicts(judge: RemoteJudge, tmp_path: Path) -> None:
    (tmp_path / "basket.py").write_text(FIXED)
    scorings = [
        judge.score("small", patch=FIX),
        judge.score("small", patch=b"\xff"),
        judge.score("small", tree=tmp_path),
    ]
    verdicts = [scoring.result() for scoring in scorings]
    assert [verdict.reward for verdict in verdicts[:2]] == [1.0, 0.0]
    assert verdicts[2].fixed == 2


def test_verdicts_can_be_awaited(service: ServiceProcess) -> None:
    async def main() -> dict[int, float | None]:
        async with RemoteJudge(service.url, token="secret") as judge:
            assert (await judge.score("small", patch=FIX)).resolved
            changes = [Submission(task="small", patch=patch) for patch in (FIX, HALF) * 4]
            return {number: each.reward async for number, each in judge.score_many(changes)}

    assert asyncio.run(main()) == dict(enumerate([1.0, 0.0] * 4))


def test_many_changes_without_asyncio(judge: RemoteJudge) -> None:
    changes = (Submission(task="small", patch=patch) for patch in (FIX, HALF) * 2)
    found = {number: each.reward for number, each in judge.score_many(changes, ahead=2)}
    assert found == dict(enumerate([1.0, 0.0] * 2))


def test_a_cancelled_scoring_cancels_its_job(judge: RemoteJudge) -> None:
    scoring = judge.score("slow", patch=SLOW)
    wait_until(lambda: judge.status().running)
    assert scoring.cancel()
    with pytest.raises(CancelledError):
        scoring.result()
    wait_until(lambda: not judge.status().running)
    assert judge.score("small", patch=FIX).result().resolved


def test_the_end_of_the_client_cancels_its_jobs(service: ServiceProcess) -> None:
    with RemoteJudge(service.url, token="secret") as judge:
        scorings = [judge.score("slow", patch=SLOW, fresh=True) for _ in range(3)]
        wait_until(lambda: judge.status().running)
    assert all(scoring.done() for scoring in scorings)
    wait_until(lambda: service.request("GET", "/v1/status").json()["running"] == 0)
    assert "remote-judge" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(UsageError, match="not open"):
        judge.score("small", patch=FIX)


def test_an_agent_works_in_a_sandbox_of_the_service(judge: RemoteJudge) -> None:
    with judge.session("small") as session:
        assert session.is_ready
        assert session.problem.id == "small"
        assert b"prices[1:]" in session.read("basket.py")
        assert session.run("cat; pwd", stdin=b"\xc3\xa9").stdout == f"é{session.workspace}\n"
        answer = session.execute_tests(paths=["tests"])
        assert (answer["outcome"], answer["summary"]["passed"]) == ("passed", 2)
        assert len(session.discover_tests()["node_ids"]) == 2
        session.write("basket.py", FIXED)
        session.write("new/file.bin", b"\x00\xff")
        assert session.read("new/file.bin") == b"\x00\xff"
        verdict = session.score(detail="done")
        assert verdict.resolved
        assert session.score() == verdict
        assert not session.is_ready
        with pytest.raises(SandboxError, match="it has ended"):
            session.run("true")
    assert judge.status().sessions == 0


def test_sessions_can_be_awaited(service: ServiceProcess) -> None:
    async def main() -> list[float | None]:
        async with RemoteJudge(service.url, token="secret") as judge:

            async def work(*, fixes: bool) -> float | None:
                """An agent that fixes the bug, or not."""
                async with judge.session("small") as session:
                    if fixes:
                        await session.write("basket.py", FIXED)
                    assert (await session.run(["true"], timeout=30)).ok
                    assert await session.read("basket.py")
                    return (await session.score(ending="step_limit")).reward

            return await asyncio.gather(work(fixes=True), work(fixes=False))

    assert asyncio.run(main()) == [1.0, 0.0]


def test_errors_of_a_session_lose_nothing(judge: RemoteJudge) -> None:
    with judge.session("small") as session:
        with pytest.raises(SandboxError):
            session.read("nothing")
        with pytest.raises(UsageError, match="ending: expected one of"):
            session.score(ending="tired")
        answer = session.execute_tests(paths=3)
        assert answer["outcome"] == "invalid_arguments" or "error" in str(answer)
        session.write("basket.py", FIXED)
        assert session.score().resolved


def test_a_session_of_a_broken_task_says_what_failed(
    start_service: StartService, tmp_path: Path
) -> None:
    own_task(tmp_path / "tasks" / "small", setup='commands = ["exit 3"]')
    service = start_service(tasks=tmp_path / "tasks")
    with RemoteJudge(service.url) as judge, judge.session("small") as session:
        assert not session.is_ready
        with pytest.raises(SandboxError):
            _ = session.workspace
        assert session.score().reward is None


def test_a_task_must_be_the_one_of_the_service(judge: RemoteJudge, tmp_path: Path) -> None:
    (listed,) = [task for task in judge.tasks() if task.id == "small"]
    same: Task = own_task(tmp_path / "small")
    other = own_task(tmp_path / "other" / "small", setup='commands = ["true"]')
    assert (listed.id, listed.digest == same.digest) == ("small", True)
    assert judge.score(same, patch=FIX).result().resolved
    with pytest.raises(InputError, match="Another version of the task"):
        judge.score(other, patch=FIX).result()
    with pytest.raises(InputError, match="Unknown task"):
        judge.score("nothing", patch=FIX).result()


@pytest.mark.parametrize("given", [{}, {"patch": "", "tree": "."}])
def test_exactly_one_change_is_expected(judge: RemoteJudge, given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="expected a patch or a tree"):
        judge.score("small", **given)


def test_a_wrong_token_is_refused(service: ServiceProcess) -> None:
    with pytest.raises(UsageError, match="Token missing or wrong"):
        RemoteJudge(service.url, token="wrong").open()


def test_nothing_at_the_address_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UnavailableError, match="does not answer"):
        RemoteJudge(f"http://127.0.0.1:{port}").open()


class HelloWorld(BaseHTTPRequestHandler):
    """Another server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"hello": "world"}')

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def test_another_server_is_said() -> None:
    with HTTPServer(("127.0.0.1", 0), HelloWorld) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(UnavailableError, match="found another server"):
            RemoteJudge(f"http://127.0.0.1:{server.server_port}").open()
        thread.join()


def test_a_restart_of_the_service_is_not_noticed(start_service: StartService) -> None:
    service = start_service("--drain", 0)
    with RemoteJudge(service.url) as judge:
        scorings = [judge.score("small", patch=patch) for patch in (FIX, HALF) * 4]
        scorings[0].result()
        service.kill()
        late = judge.score("small", patch=FIX)
        service.start()
        assert late.result().resolved
        assert [each.result().reward for each in scorings] == [1.0, 0.0] * 4


def test_a_session_ends_with_its_service(start_service: StartService) -> None:
    service = start_service("--drain", 0)
    with RemoteJudge(service.url) as judge, judge.session("small") as session:
        service.stop()
        service.start()
        with pytest.raises(SandboxError, match="Unknown session"):
            session.run("true")


def test_it_is_the_judge_of_a_reward_function(judge: RemoteJudge) -> None:
    reward = JudgedReward(judge, column="bug")
    completions = [f"Here it is:\n```diff\n{FIX}```\n", "no idea"]
    assert reward(completions, bug=["small", "small"]) == [1.0, 0.0]
