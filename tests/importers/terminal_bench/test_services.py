import pytest
import yaml

from agentbench.importers.task_folders import ConvertedTask
from agentbench.importers.terminal_bench import read_terminal_bench_task
from tests.importers.terminal_bench.terminal_folders import terminal_folder

SERVICES = """\
services:
  client:
    build: {dockerfile: Dockerfile}
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: [sh, -c, sleep infinity]
    environment: ["TEST_DIR=${T_BENCH_TEST_DIR}", "GREETING=hello"]
    volumes: ["${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}", "data:/data"]
    depends_on: [db]
    networks: [back]
  db:
    image: postgres
    depends_on: {web: {condition: service_started}}
    networks: [back]
  web:
    build: ./web
    image: ${T_BENCH_TASK_DOCKER_NAME_PREFIX}__web
    environment: {LOGS: "${T_BENCH_CONTAINER_LOGS_PATH}", PRICE: "5$$"}
    networks: {back: {aliases: [shop]}}
volumes: {data: {}}
networks: {back: {}}
"""


def task(folder) -> ConvertedTask:
    found = read_terminal_bench_task(folder)
    assert isinstance(found, ConvertedTask), [str(each) for each in found]
    return found


def refused(folder) -> list[str]:
    found = read_terminal_bench_task(folder)
    assert isinstance(found, list)
    return [str(each).replace(f"{folder}/", "") for each in found]


def test_the_client_becomes_main_and_keeps_its_name_for_the_others(tmp_path):
    changes = {"docker-compose.yaml": SERVICES, "web/Dockerfile": "FROM scratch\n"}
    made = task(terminal_folder(tmp_path / "x", changes)).new
    environment = made.table.environment
    assert (environment.compose, environment.dockerfile) == (
        "environment/docker-compose.yaml",
        None,
    )
    assert made.table.repo.workdir == "/app"
    assert {"environment/Dockerfile", "environment/web/Dockerfile"} <= made.copies.keys()
    services = yaml.safe_load(made.files["environment/docker-compose.yaml"])["services"]
    assert services["main"] == {
        "build": {"dockerfile": "Dockerfile"},
        "command": ["sh", "-c", "sleep infinity"],
        "environment": ["GREETING=hello"],
        "volumes": ["data:/data"],
        "depends_on": ["db"],
        "networks": {"back": {"aliases": ["client"]}},
    }
    assert services["web"] == {
        "build": "./web",
        "environment": {"PRICE": "5$$"},
        "networks": {"back": {"aliases": ["shop"]}},
    }


@pytest.mark.parametrize(
    ("main", "user"),
    [
        ("{build: .}", "clerk"),
        ("{build: ., user: '0:0'}", "root"),
        ("{image: a}", "root"),
    ],
)
def test_the_user_is_that_of_the_container(tmp_path, main, user):
    changes = {
        "docker-compose.yaml": f"services: {{client: {main}, db: {{image: a}}}}\n",
        "Dockerfile": "FROM debian\nWORKDIR /app\nUSER clerk\n",
    }
    table = task(terminal_folder(tmp_path / "x", changes)).new.table
    assert table.environment.user == user
    assert table.verifier is not None
    assert table.verifier.is_shared
    assert table.verifier.network


def test_a_container_with_settings_of_its_own_keeps_them(tmp_path):
    compose = "services: {client: {build: ., tmpfs: [/scratch], working_dir: /srv/work}}\n"
    made = task(terminal_folder(tmp_path / "x", {"docker-compose.yaml": compose})).new
    services = yaml.safe_load(made.files["environment/docker-compose.yaml"])["services"]
    assert services["main"]["tmpfs"] == ["/scratch"]
    assert made.table.repo.workdir == "/srv/work"


@pytest.mark.parametrize(
    ("compose", "said"),
    [
        ("services: {a: {build: .}, b: {image: c}}\n", "services: none of a, b is the client"),
        (
            "services: {client: {build: .}, db: {image: a, environment: ['K=${API_KEY}']}}\n",
            "services: the variable API_KEY would be taken from the host",
        ),
        ("services: {a: [], b: {image: c}}\n", "services: expected a table of services"),
    ],
)
def test_what_cannot_be_converted_is_refused_with_file_and_field(tmp_path, compose, said):
    (one,) = refused(terminal_folder(tmp_path / "x", {"docker-compose.yaml": compose}))
    assert one.startswith(f"docker-compose.yaml: {said}")
