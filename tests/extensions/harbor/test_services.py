import pytest

from agentbench.extensions.harbor.importing import read_harbor_task
from agentbench.importers.task_folders import ConvertedTask
from agentbench.tasks.task_file import TaskFile
from tests.extensions.harbor.harbor_folders import harbor_folder

COMPOSE = "environment/docker-compose.yaml"
DB = "services: {db: {image: db}}\n"


def table(folder) -> TaskFile:
    found = read_harbor_task(folder)
    assert isinstance(found, ConvertedTask), [str(each) for each in found]
    return found.new.table


def refused(folder) -> list[str]:
    found = read_harbor_task(folder)
    assert isinstance(found, list)
    return [str(each).replace(f"{folder}/", "") for each in found]


def test_compose_file_becomes_services(tmp_path):
    environment = table(harbor_folder(tmp_path, {COMPOSE: DB})).environment
    assert environment.compose == COMPOSE
    assert environment.dockerfile == "environment/Dockerfile"


def test_main_gives_the_build_the_user_the_folder_and_the_health_check(tmp_path):
    main = """\
services:
  main:
    build: {dockerfile: other/Dockerfile, args: {A: "1"}}
    user: "1001:1001"
    working_dir: /srv/work
    healthcheck: {test: ["CMD", "test", "-e", "/a b"], interval: 1m30s, retries: 7}
"""
    created = table(
        harbor_folder(tmp_path, {COMPOSE: main, "environment/other/Dockerfile": "FROM scratch\n"})
    )
    environment = created.environment
    assert (environment.dockerfile, environment.user) == (None, "1001")
    assert created.repo.workdir == "/srv/work"
    assert environment.healthcheck is not None
    assert environment.healthcheck.command == "test -e '/a b'"
    assert (environment.healthcheck.interval_s, environment.healthcheck.retries) == (90.0, 7)


def test_the_dockerfile_that_main_builds_gives_the_usual_user_and_folder(tmp_path):
    main = "services: {main: {build: ./app}}\n"
    own = "FROM debian\nWORKDIR /srv/app\nUSER clerk\n"
    created = table(harbor_folder(tmp_path, {COMPOSE: main, "environment/app/Dockerfile": own}))
    assert (created.repo.workdir, created.environment.user) == ("/srv/app", "clerk")


@pytest.mark.parametrize(
    ("check", "command"),
    [
        ('{test: ["CMD-SHELL", "a && b"]}', "a && b"),
        ("{test: a || b}", "a || b"),
        ('{test: ["NONE"]}', None),
        ("{disable: true}", None),
    ],
)
def test_each_form_of_a_health_check_of_main_is_understood(tmp_path, check, command):
    main = f"services: {{main: {{healthcheck: {check}}}}}\n"
    found = table(harbor_folder(tmp_path, {COMPOSE: main})).environment.healthcheck
    assert (found.command if found is not None else None) == command


def test_the_tasks_own_health_check_outranks_that_of_main(tmp_path):
    changes = {
        COMPOSE: "services: {main: {healthcheck: {test: theirs}}}\n",
        "task.toml": '[environment.healthcheck]\ncommand = "ours"\n',
    }
    found = table(harbor_folder(tmp_path, changes)).environment.healthcheck
    assert found is not None
    assert found.command == "ours"


def test_hooks_and_artifacts_of_a_service_keep_their_service(tmp_path):
    text = """\
artifacts = [{ source = "/tmp/orders.csv", service = "db" }, { source = "a", service = "main" }]
[verifier]
environment_mode = "separate"
[[verifier.collect]]
service = "db"
user = "postgres"
command = "dump"
[[verifier.collect]]
command = "true"
"""
    verifier = table(harbor_folder(tmp_path, {COMPOSE: DB, "task.toml": text})).verifier
    assert verifier is not None
    assert verifier.takes == ("/logs/artifacts", "db:/tmp/orders.csv", "a")
    assert [(each.service, each.user) for each in verifier.collect] == [
        ("db", "postgres"),
        (None, None),
    ]
    assert verifier.services == {"db"}


def test_a_separate_verifier_has_the_services_of_its_own_folder(tmp_path):
    changes = {
        "tests/docker-compose.yaml": DB,
        "tests/Dockerfile": "FROM debian\n",
        "task.toml": '[verifier]\nenvironment_mode = "separate"\n',
    }
    verifier = table(harbor_folder(tmp_path / "a", changes)).verifier
    assert verifier is not None
    assert verifier.compose == "tests/docker-compose.yaml"
    assert verifier.dockerfile == "tests/Dockerfile"
    changes["tests/docker-compose.yaml"] = "services: {main: {build: .}}\n"
    verifier = table(harbor_folder(tmp_path / "b", changes)).verifier
    assert verifier is not None
    assert (verifier.compose, verifier.dockerfile) == ("tests/docker-compose.yaml", None)
    changes["task.toml"] = ""
    assert table(harbor_folder(tmp_path / "c", changes)).verifier.compose is None


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        (
            {COMPOSE: "services: {db: {image: a, privileged: true}}\n"},
            f"{COMPOSE}: services.db.privileged: is not supported",
        ),
        (
            {COMPOSE: "services: {main: {volumes: ['/var/run/docker.sock:/x']}}\n"},
            f"{COMPOSE}: services.main.volumes: /var/run/docker.sock is refused",
        ),
        (
            {
                "tests/docker-compose.yaml": "services: {db: {image: a, network_mode: host}}\n",
                "task.toml": '[verifier]\nenvironment_mode = "separate"\n',
            },
            "tests/docker-compose.yaml: services.db.network_mode: host is refused",
        ),
        (
            {COMPOSE: "services: {main: {user: '${UID}'}}\n"},
            f"{COMPOSE}: services.main.user: '${{UID}}' depends on a variable",
        ),
        (
            {
                COMPOSE: DB,
                "task.toml": 'artifacts = [{source = "a", service = "db"}]\n'
                '[verifier]\nenvironment_mode = "separate"\n',
            },
            "task.toml: artifacts.0: 'a' is not absolute",
        ),
    ],
)
@pytest.mark.docker
def test_unsafe_compose_settings_are_refused(tmp_path, changes, result):
    (one,) = refused(harbor_folder(tmp_path, changes))
    assert one.startswith(result)


@pytest.mark.docker
def test_variables_of_harbor_have_values(tmp_path):
    text = """\
services:
  db: {image: "${MAIN_IMAGE_NAME}", cpus: "${CPUS}", mem_limit: "${MEMORY}"}
  web: {build: "${CONTEXT_DIR}/web", environment: {A: "${A}"}}
"""
    changes = {COMPOSE: text, "task.toml": '[environment.env]\nA = "1"\n'}
    assert table(harbor_folder(tmp_path, {**changes, "environment/web/Dockerfile": "FROM a\n"}))
