import pytest

from agentbench.sandbox.docker.provider import DockerProvider
from tests.importers.terminal_bench.terminal_folders import terminal_folder
from tests.needed import DOCKER


def test_without_a_proof_the_task_is_written(cli, tmp_path):
    terminal_folder(tmp_path / "hello")
    where = ("--out", tmp_path / "ours", "--no-prove")
    said = cli("tasks", "import", "terminal-bench", tmp_path / "hello", *where)
    assert (said.code, said.stdout) == (0, f"{tmp_path}/ours/hello\n")


def test_several_containers_without_a_client_are_65(cli, tmp_path):
    compose = "services: {a: {build: .}, b: {image: postgres}}\n"
    terminal_folder(tmp_path / "hello", {"docker-compose.yaml": compose})
    where = ("--out", tmp_path / "ours", "--no-prove")
    said = cli("tasks", "import", "terminal-bench", tmp_path / "hello", *where)
    assert said.code == 65
    assert "docker-compose.yaml: services: none of a, b is the client; name it" in said.stderr


@pytest.mark.docker
def test_its_own_tests_prove_it(cli, tmp_path):
    terminal_folder(tmp_path / "hello")
    where = ("--out", tmp_path / "ours", "--runs-dir", tmp_path / "runs", "--sandbox", "docker")
    said = cli("tasks", "import", "terminal-bench", tmp_path / "hello", *where, "--repeat", 1, "-q")
    assert said.code == 0, said.stdout + said.stderr
    assert said.stdout == f"{tmp_path}/ours/hello  valid\n"


REDIS = """\
exec 3<> /dev/tcp/cache/6379
printf '%s\\r\\nQUIT\\r\\n' "$*" >&3
cat <&3
"""
COUNTER = {
    "docker-compose.yaml": """\
services:
  client:
    build: .
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    depends_on: {cache: {condition: service_healthy}}
  cache:
    image: agentbench-tests/redis:7
    command: [redis-server, --protected-mode, "no", --save, ""]
    healthcheck: {test: [CMD, redis-cli, ping], interval: 0.5s, retries: 120}
""",
    "Dockerfile": "FROM agentbench/python:3.11\nUSER root\nWORKDIR /app\nCOPY ask /app/\n",
    "ask": REDIS,
    "solution.sh": "#!/bin/bash\nid -un > who.txt; bash ask INCR visits; bash ask INCR visits\n",
    "tests/test_outputs.py": """\
import subprocess
from pathlib import Path


def test_the_cache_counted_two_visits_of_root():
    said = subprocess.run(["bash", "ask", "GET", "visits"], capture_output=True, text=True).stdout
    assert said.split()[:2] == ["$1", "2"]
    assert Path("who.txt").read_text() == "root\\n"
""",
}
LISTENS = {
    "docker-compose.yaml": """\
services:
  client: {build: ., tmpfs: [/scratch], volumes: ["out:/out"]}
  probe:
    image: agentbench/python:3.11
    command: [bash, -c, "until exec 3<> /dev/tcp/client/8000; do sleep 0.2; done;
      echo seen > /out/seen; sleep infinity"]
    user: root
    volumes: ["out:/out"]
volumes: {out: {}}
""",
    "solution.sh": """\
#!/bin/bash
cd /scratch
python -m http.server 8000 > /dev/null 2>&1 &
until [ -e /out/seen ]; do sleep 0.2; done
""",
    "tests/test_outputs.py": """\
from pathlib import Path
from urllib.request import urlopen


def test_the_server_goes_on_and_the_probe_has_seen_it():
    assert urlopen("http://client:8000/").status == 200
    assert Path("/out/seen").read_text() == "seen\\n"
""",
}


@pytest.mark.docker
@pytest.mark.parametrize("changes", [COUNTER, LISTENS], ids=["counter", "listens"])
def test_a_task_with_services_is_proven_by_its_own_tests(cli, tmp_path, changes):
    if not DockerProvider.connect().has_image("agentbench-tests/redis:7"):
        DOCKER.refuse("see tests/importers/harbor_corpus/build_images.sh")
    terminal_folder(tmp_path / "several", changes)
    where = ("--out", tmp_path / "ours", "--runs-dir", tmp_path / "runs", "--sandbox", "docker")
    source = tmp_path / "several"
    said = cli("tasks", "import", "terminal-bench", source, *where, "--repeat", 1, "-q")
    assert said.stdout == f"{tmp_path}/ours/several  valid\n", said.stderr
