"""What Compose makes of a file, checked and limited: with the real program, without containers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.errors import ServiceError
from agentbench.sandbox.docker.compose_model import ComposeModel, ProjectSettings
from agentbench.sandbox.docker.compose_program import find_compose
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.interface import Limits
from agentbench.tasks.compose_file import MAIN_IMAGE
from tests.sandbox.compose_services import compose, services_in
from tests.sandbox.docker_fixtures import engine

__all__ = ["compose", "engine"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("compose")]

MAIN = f"  main: {{image: {MAIN_IMAGE}}}\n"
LIMITS = Limits(cpus=2.0, memory_mib=1000, pids=50, disk_mib=10)


@pytest.fixture
def model(tmp_path: Path, engine: Engine) -> Callable[[str], ComposeModel]:
    """Reads a compose file, given as the services beside `main` and what follows them."""

    def read(services: str, rest: str = "", main: str = MAIN) -> ComposeModel:
        file = services_in(tmp_path, f"services:\n{main}{services}\n{rest}").file
        program = find_compose(engine.facts)
        outcome = program.run("--file", str(file), "config", "--format", "json")
        assert outcome.code == 0, outcome.messages
        return ComposeModel(file, outcome.output)

    return read


def written(
    model: ComposeModel, *, network: bool = False
) -> dict[str, dict[str, dict[str, object]]]:
    """The document of a project."""
    settings = ProjectSettings(
        name="p",
        labels={"ours": "1"},
        images=dict.fromkeys(model.services, "image:1"),
        limits=LIMITS,
        network_options={"mtu": "9"},
        network=network,
    )
    document: dict[str, dict[str, dict[str, object]]] = dict(model.document(settings))
    return document


@pytest.mark.parametrize(
    ("setting", "reported"),
    [
        ("privileged: true", "services.db.privileged: is not supported"),
        ("pid: host", "services.db.pid: is not supported"),
        ("ipc: host", "services.db.ipc: host is refused"),
        ("ipc: 'container:x'", "services.db.ipc: container:x is refused"),
        ("gpus: all", "services.db.gpus: is not supported"),
        ("uts: host", "services.db.uts: is not supported"),
        ("userns_mode: host", "services.db.userns_mode: is not supported"),
        ("cgroup: host", "services.db.cgroup: is not supported"),
        ("cgroup_parent: /x", "services.db.cgroup_parent: is not supported"),
        ("runtime: x", "services.db.runtime: is not supported"),
        ("devices: [/dev/kmsg]", "services.db.devices: is not supported"),
        ("device_cgroup_rules: ['c 1:3 mr']", "services.db.device_cgroup_rules: is not supported"),
        ("volumes_from: [other]", "services.db.volumes_from: is not supported"),
        ("sysctls: {net.ipv6.conf.all.disable_ipv6: 0}", "services.db.sysctls: net.ipv6.conf"),
        ("sysctls: {net.ipv4.ip_forward: 1}", "services.db.sysctls: net.ipv4.ip_forward is"),
        ("network_mode: host", "services.db.network_mode: host is refused"),
        ("network_mode: 'container:x'", "services.db.network_mode: container:x is refused"),
        ("network_mode: 'service:main'", "services.db.network_mode: service:main is refused"),
        ("cap_add: [SYS_ADMIN]", "services.db.cap_add: SYS_ADMIN is refused"),
        ("cap_add: [CAP_NET_RAW]", "services.db.cap_add: CAP_NET_RAW is refused"),
        ("cap_add: [ALL]", "services.db.cap_add: ALL is refused"),
        ("security_opt: ['seccomp:unconfined']", "services.db.security_opt: seccomp:unconfined is"),
        ("volumes: ['/etc:/x']", "services.db.volumes: /etc is refused; give a path below"),
        ("volumes: ['/var/run/docker.sock:/x']", "services.db.volumes: /var/run/docker.sock is"),
        ("volumes: ['../:/x']", "services.db.volumes: "),
        ("volumes: ['.:/x']", "services.db.volumes: "),
        ("volumes: ['./none:/x']", "does not exist"),
        ("volumes: ['./out:/x']", "/out is refused; give a path below"),
        ("build: ..", "services.db.build: "),
        ("build: {context: ., dockerfile: ../Dockerfile}", "services.db.build: "),
        ("build: {context: ., network: host}", "services.db.build.network: is not supported"),
        ("build: {context: ., privileged: true}", "services.db.build.privileged: is not supported"),
        ("build: {context: ., ssh: [default]}", "services.db.build.ssh: is not supported"),
    ],
)
def test_setting_that_reaches_the_host_is_refused_with_its_field(
    model: Callable[..., ComposeModel], tmp_path: Path, setting: str, reported: str
) -> None:
    (tmp_path / "out").symlink_to("/etc")
    image = "" if setting.startswith("build") else "image: a, "
    other = "  other: {image: a}\n"
    with pytest.raises(ServiceError) as caught:
        model(f"{other}  db: {{{image}{setting}}}")
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{tmp_path}/docker-compose.yaml: ")
    assert reported in line


@pytest.mark.parametrize(
    ("rest", "reported"),
    [
        ("networks: {default: {external: true}}", "networks.default.external: is refused"),
        ("networks: {default: {driver: host}}", "networks.default.driver: host is refused"),
        ("networks: {default: {driver_opts: {a: b}}}", "networks.default.driver_opts: is refused"),
        ("networks: {default: {ipam: {config: [{subnet: 10.9.0.0/24}]}}}", "networks.default.ipam"),
        ("volumes: {data: {driver_opts: {type: none, o: bind, device: /etc}}}", "data.driver_opts"),
        ("volumes: {data: {external: true}}", "volumes.data.external: is refused"),
        ("secrets: {token: {file: /etc/shadow}}", "secrets.token: is not a file below"),
        ("configs: {token: {file: ../x}}", "configs.token: is not a file below"),
    ],
)
def test_shared_settings_belong_to_the_project(
    model: Callable[..., ComposeModel], rest: str, reported: str
) -> None:
    uses = "volumes: ['data:/x'], " if rest.startswith("volumes") else ""
    uses += f"{rest.split(':')[0]}: [token], " if "token" in rest else ""
    with pytest.raises(ServiceError, match=reported):
        model(f"  db: {{{uses}image: a}}", rest)


@pytest.mark.parametrize(
    ("setting", "reported"),
    [
        ("network_mode: none", "services.main.network_mode: is not supported"),
        ("read_only: true", "services.main.read_only: is not supported"),
        ("secrets: [token]", "services.main.secrets: token is not a file"),
        ("volumes: ['./db:/workspace/x']", "/workspace/x is a folder of agentbench"),
        ("privileged: true", "services.main.privileged: is not supported"),
    ],
)
def test_main_takes_settings_that_a_sandbox_may_have(
    model: Callable[..., ComposeModel], setting: str, reported: str
) -> None:
    rest = "secrets: {token: {environment: HOME}}" if "secrets" in setting else ""
    with pytest.raises(ServiceError, match=reported):
        model("  db: {image: a}", rest, main=f"  main: {{image: a, {setting}}}\n")


def test_a_project_has_names_labels_and_limits_of_its_own(
    model: Callable[..., ComposeModel],
) -> None:
    text = """\
  db:
    image: a
    container_name: db
    restart: always
    ports: ["80:80"]
    labels: {agentbench.owner: somebody}
    volumes: ["data:/data", "./db:/in", "/anonymous"]
    networks: {back: {aliases: [store]}}
    ulimits: {nproc: 99}
    cap_drop: [CHOWN]
    mem_limit: 200m
    depends_on: {main: {condition: service_started}, other: {condition: service_healthy}}
  other: {image: a, deploy: {replicas: 3, resources: {limits: {cpus: "0.5"}}}}
  third: {image: a}
"""
    rest = "networks: {back: {name: fixed}}\nvolumes: {data: {name: fixed}}"
    document = written(model(text, rest))
    services = document["services"]
    assert services.keys() == {"db", "other", "third"}
    db = services["db"]
    assert db["labels"] == {"ours": "1"}
    assert db.keys().isdisjoint({"container_name", "ports", "build", "deploy"})
    assert (db["restart"], db["image"], db["pull_policy"]) == ("always", "image:1", "never")
    assert db["depends_on"] == {"other": {"condition": "service_healthy", "required": True}}
    assert db["cap_drop"] == ["CHOWN", "NET_RAW"]
    assert db["ulimits"] == {"nproc": 99, "core": 0, "fsize": {"soft": 10 << 20, "hard": 10 << 20}}
    mounts = db["volumes"]
    assert isinstance(mounts, list)
    assert [each.get("read_only", False) for each in mounts] == [False, True, False]
    memory = [each["mem_limit"] for each in services.values()]
    assert memory == [200 << 20, (400 << 20) // 3, 400 << 20]
    assert [each["cpus"] for each in services.values()] == [0.25, 0.5, 0.25]
    assert {each["pids_limit"] for each in services.values()} == {50}
    assert document["networks"]["back"] == {
        "name": "p_back", "labels": {"ours": "1"}, "internal": True, "driver_opts": {"mtu": "9"}
    }  # fmt: skip
    assert document["volumes"] == {"data": {"name": "p_data", "labels": {"ours": "1"}}}


def test_network_gives_services_public_access_and_name_resolution(
    model: Callable[..., ComposeModel],
) -> None:
    text = "  db: {image: a}\n  apart: {image: a, networks: [back]}"
    found = model(text, "networks: {back: {internal: true}}")
    document = written(found, network=True)
    assert not document["networks"]["default"]["internal"]
    assert document["networks"]["back"]["internal"]
    assert "dns" not in document["services"]["db"]
    assert "dns" in written(found)["services"]["db"]


def test_services_above_the_limit_are_refused(
    model: Callable[..., ComposeModel],
) -> None:
    found = model("  db: {image: a, mem_limit: 900m}\n  web: {image: a, mem_limit: 900m}")
    with pytest.raises(ServiceError, match=r"declare 1800 MiB of memory, and \[environment\] mem"):
        written(found)
    with pytest.raises(ServiceError, match=r"declare 2 CPUs, .* cpus allows 2 for all of them"):
        written(model("  db: {image: a, cpus: 2}\n  web: {image: a}"))


def test_main_joins_the_networks_that_services_use(model: Callable[..., ComposeModel]) -> None:
    main = f"  main: {{image: {MAIN_IMAGE}, networks: {{back: {{aliases: [x]}}, alone: }}}}\n"
    found = model(
        "  db: {image: a, networks: [back, default]}", "networks: {back: , alone: }", main
    )
    assert {name: each.aliases for name, each in found.main_networks().items()} == {"back": ("x",)}
