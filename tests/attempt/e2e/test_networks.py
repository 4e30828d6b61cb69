"""The network of each stage of an attempt, from its folder to the record."""

import json
from collections.abc import Iterator

import pytest

from agentbench.agents.reference import NoopAgent
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Limits
from tests.attempt.e2e import test_verifier_run
from tests.attempt.e2e.test_verifier_run import Bench, agent, oracle
from tests.sandbox.conformance_base import sh
from tests.sandbox.docker_fixtures import bridge_of
from tests.sandbox.egress.proxy_client import WebServer

bench = test_verifier_run.bench
pytestmark = pytest.mark.docker

ASK = """\
schema_version = "1.4"

[task]
name = "examples/network"

[agent]
timeout_sec = 60.0
{agent}
[verifier]
timeout_sec = 300.0
{verifier}
[environment]
{environment}
"""
ASK = """\
python3 - {url} <<'PY'
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=5).status)
except OSError as error:
    print(getattr(error, "code", "nothing"))
PY
"""
# As in Harbor's template, but for the installer of uv, which is on no package index.
TEMPLATE = """\
#!/bin/bash
[ -e hello.txt ] || { echo 0 > /logs/verifier/reward.txt; exit; }
apt-get update
apt-get install -y curl
curl --version
pip install uv
uvx -p "$(command -v python3)" --with pytest==8.4.1 pytest -q /tests/test_outputs.py
if [ $? -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer((bridge_of(Engine.connect()), 0)).running() as server:
        yield server


@pytest.mark.parametrize("place", ["shared", "fresh"])
def test_each_phase_has_its_own_network(bench: Bench, web: WebServer, place: str) -> None:
    host = web.server_address[0]
    url = f"http://{host}:{web.port}/"
    test = f"#!/bin/bash\n({ASK.format(url=url)}) > found\ngrep -qx nothing found\n"
    test += "verifier=$?\ngrep -qx 200 hello.txt && [ $verifier = 0 ]\n"
    test += "echo $((1 - $?)) > /logs/verifier/reward.txt\n"
    task = bench.task(
        "hello",
        {"tests/test.sh": test},
        environment={"network": [host]},
        verifier={"network": False, "environment": place},
    )
    record = bench.attempt(task, agent(f"({ASK.format(url=url)}) > hello.txt"))
    assert record.resolved, (record.detail, record.stages[-1].evidence)
    assert len(web.requests) == 1
    assert record.environment.network == {
        "setup": False, "baseline_run": False, "agent_run": (host,), "final_test": False,
    }  # fmt: skip
    (line,) = (bench.place / "network" / "agent_run.jsonl").read_text().splitlines()
    assert json.loads(line)["host"] == host
    assert [path.name for path in (bench.place / "network").iterdir()] == ["agent_run.jsonl"]


def test_verifier_reaches_hosts_that_the_agent_does_not(bench: Bench, web: WebServer) -> None:
    host = web.server_address[0]
    url = f"http://{host}:{web.port}/"
    test = f"#!/bin/bash\n({ASK.format(url=url)}) > found\n"
    test += "grep -qx 200 found && grep -qx nothing hello.txt\n"
    test += "echo $((1 - $?)) > /logs/verifier/reward.txt\n"
    task = bench.task(
        "hello",
        {"tests/test.sh": test},
        agent={"network": False},
        verifier={"network": [host]},
    )
    record = bench.attempt(task, agent(f"({ASK.format(url=url)}) > hello.txt"))
    assert record.resolved, (record.detail, record.stages[-1].evidence)
    assert {path.name for path in (bench.place / "network").iterdir()} == {
        "baseline_run.jsonl", "final_test.jsonl",
    }  # fmt: skip


def test_test_script_installs_packages_as_root(bench: Bench) -> None:
    _require_mirrors(bench.provider)
    files = {
        "tests/test.sh": TEMPLATE,
        "tests/test_outputs.py": "def test_it():\n    open('hello.txt').close()\n",
    }
    task = bench.task("hello", files, user="root", verifier={"timeout_s": 300.0})
    record = bench.attempt(task, oracle(task))
    assert record.resolved, (record.detail, record.stages[-1].evidence.command)
    assert record.environment.network["final_test"] is True
    assert bench.attempt(task, NoopAgent()).failure_reason == "TESTS_FAILED"


def _require_mirrors(provider: DockerProvider) -> None:
    limits, image = Limits(user="root"), provider.resolve_image(None)
    line = "apt-get update -qq -o Acquire::Retries=0 && pip download -q --no-deps -d /tmp/x uv"
    with provider.open(image, limits=limits, network=True) as sandbox:
        result = sh(sandbox, line)
    if not result.ok:
        pytest.skip(f"no mirror of Debian and PyPI answers: {result.stderr.strip()[-200:]}")
