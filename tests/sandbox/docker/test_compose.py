"""Services beside a Docker sandbox: their start, their end, and that nothing is left of them."""

import ipaddress
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event, Timer
from types import SimpleNamespace
from typing import Any

import pytest

from agentbench.errors import RunCancelled, SandboxError, ServiceError, UnavailableError
from agentbench.sandbox.archives import open_tar_stream, tar_of_file
from agentbench.sandbox.docker import cleanup
from agentbench.sandbox.docker.compose import ComposeProject
from agentbench.sandbox.docker.compose_model import SERVICE_LABEL
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.host_environment import resolvers
from agentbench.sandbox.interface import (
    ORDINARY_USE,
    Command,
    HasServices,
    ImageId,
    LastingSandbox,
    Promise,
    RunsServices,
    Sandbox,
    SandboxProvider,
    SandboxUse,
    ServiceReport,
    Services,
)
from agentbench.sandbox.ownership import PROJECT, ProcessOwner, labels_of
from agentbench.scoring.evidence import Ending
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.compose_services import ASK, IDLE, PORT, STORE, ask, compose, services_in
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.conformance_base import LIMITS, python, sh
from tests.sandbox.conformance_isolation import connects, listening
from tests.sandbox.docker_fixtures import bridge_of, engine, image, left_in, provider

__all__ = ["compose", "engine", "image", "provider"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("compose")]

ENDS = """\
services:
  main: {depends_on: {db: {condition: service_completed_successfully}}}
"""
FAILING = f"""\
{ENDS}  db:
    image: agentbench/python:3.11
    command: ["sh", "-c", "echo no such table >&2; exit 3"]
"""
UNHEALTHY = """\
services:
  db:
    image: agentbench/python:3.11
    command: ["sleep", "infinity"]
    healthcheck: {test: ["CMD-SHELL", "echo closed; exit 1"], interval: 1s, retries: 1}
"""
DEPENDENT = """\
services:
  first:
    image: agentbench/python:3.11
    command: ["false"]
  second:
    image: agentbench/python:3.11
    command: ["sleep", "infinity"]
    depends_on: {first: {condition: service_completed_successfully}}
"""
DEPENDENT_ON_NONE = DEPENDENT.replace('["false"]', '["true"]')
NO_PROGRAM = 'services: {db: {image: "agentbench/python:3.11", command: [no-such-program]}}\n'
WHOLE = f"""\
{STORE}
  seed:
    image: agentbench/python:3.11
    user: root
    command: ["python", "-c", "import socket; s = socket.create_connection(('db', {PORT}));
      s.sendall(b'SET a 1\\\\n'); print(s.recv(9)); open('/data/seeded', 'w').write('yes')"]
    depends_on: {{db: {{condition: service_healthy}}}}
    volumes: ["data:/data", "./db:/in"]
    networks: [default, back]
  main:
    environment: {{DB: "db:${{PORT}}", PRICE: "5$$"}}
    depends_on: [db, seed]
    volumes: ["data:/data", "./db:/in"]
    networks: {{default: {{}}, back: {{aliases: [web]}}}}
networks: {{back: {{}}}}
volumes: {{data: {{}}}}
"""

Opener = Callable[..., AbstractContextManager[Sandbox]]


@pytest.fixture
def opened(provider: DockerProvider, image: ImageId, tmp_path: Path) -> Opener:
    """Opens a sandbox with the services of a compose file."""

    def opening(text: str, *, network: bool = False, cancel: Event | None = None) -> object:
        services = services_in(tmp_path, text)
        return provider.open(
            image, limits=LIMITS, network=network, use=SandboxUse(services=services), cancel=cancel
        )

    return opening


def report(sandbox: Sandbox, name: str = "db") -> ServiceReport:
    assert isinstance(sandbox, HasServices)
    return next(each for each in sandbox.service_reports() if each.name == name)


def test_a_sandbox_reaches_its_services_by_name_and_nothing_else(
    opened: Opener, engine: Engine
) -> None:
    before = left_in(engine)
    with opened(WHOLE) as sandbox:
        assert ask(sandbox, "GET", "a") == "1"
        assert sh(sandbox, 'cat /data/seeded; echo " $DB $PRICE"').stdout == f"yes db:{PORT} 5$\n"
        assert "Read-only" in sh(sandbox, "touch /in/x").stderr
        look = "import socket; print(socket.gethostbyname('web') != socket.gethostbyname('db'))"
        assert python(sandbox, look).stdout == "True\n"
        assert (
            "gaierror" in python(sandbox, "import socket; socket.getaddrinfo('a.test', 80)").stderr
        )
        gateways = "cut -f 3 /proc/net/route | grep -v 00000000 | tail -n +2"
        addresses = {_address(each) for each in sh(sandbox, gateways).stdout.split()}
        with listening() as port:
            assert not any(connects(sandbox, host, port) for host in addresses)
        assert {each.failure for each in _reports(sandbox)} == {None}
        assert b"SET a 1\nGET a\n" in report(sandbox).log
    assert left_in(engine) == before


def _address(text: str) -> str:
    """An address in the kernel's table of routes."""
    return str(ipaddress.ip_address(int.from_bytes(bytes.fromhex(text)[::-1])))


def _reports(sandbox: Sandbox) -> Sequence[ServiceReport]:
    assert isinstance(sandbox, HasServices)
    return sandbox.service_reports()


def test_services_of_two_sandboxes_are_fresh_and_apart(opened: Opener) -> None:
    with opened(STORE) as one, opened(STORE) as other:
        assert ask(one, "SET", "a", "1") == "none"
        assert (ask(one, "GET", "a"), ask(other, "GET", "a")) == ("1", "none")


def test_set_up_with_a_network_has_a_way_out(opened: Opener, engine: Engine) -> None:
    with opened(STORE, network=True) as sandbox:
        with listening() as port:
            assert connects(sandbox, bridge_of(engine), port)
        assert ask(sandbox, "GET", "a") == "none"


def test_the_limits_of_all_services_are_those_of_the_sandbox(
    opened: Opener, engine: Engine
) -> None:
    text = (
        STORE
        + '  idle: {image: "agentbench/python:3.11", command: [sleep, "99"], mem_limit: 64m}\n'
    )
    with opened(text):
        with engine.api("look at the services") as api:
            labels = labels_of("sandbox", ProcessOwner.current())
            ours = [PROJECT, *(f"{name}={value}" for name, value in labels.items())]
            found = api.containers(filters={"label": ours})
            own = [each for each in found if "db" in each["Names"][0] or "idle" in each["Names"][0]]
            details = [api.inspect_container(each["Id"])["HostConfig"] for each in own]
        assert sum(each["Memory"] for each in details[:2]) <= LIMITS.memory_mib << 20
        assert all(each["PidsLimit"] == LIMITS.pids for each in details)
        assert not any(each["PortBindings"] for each in details)
        assert {each["RestartPolicy"]["Name"] for each in details} <= {"", "no"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FAILING, "service db ended with exit code 3 (no such table)"),
        (UNHEALTHY, "service db is unhealthy: closed"),
        (DEPENDENT, "service first ended with exit code 1"),
        (NO_PROGRAM, "service db did not start: "),
    ],
)
def test_a_service_that_does_not_work_is_the_tasks_fault(
    opened: Opener, engine: Engine, text: str, said: str
) -> None:
    before = left_in(engine)
    with pytest.raises(ServiceError) as caught, opened(text):
        pass
    assert caught.value.fault == "task"
    assert f"docker-compose.yaml: {said}" in str(caught.value)
    assert caught.value.logs.keys() >= {said.split()[1]}
    assert left_in(engine) == before


def test_an_image_that_cannot_be_built_is_the_tasks_fault(
    provider: DockerProvider, tmp_path: Path
) -> None:
    services = services_in(tmp_path)
    (tmp_path / "db" / "Dockerfile").write_text("FROM agentbench/python:3.11\nRUN exit 7\n")
    with pytest.raises(ServiceError, match=r"docker-compose.yaml: cannot build db: .*7") as caught:
        provider.prepare_services(services)
    assert caught.value.fault == "task"


def test_an_image_is_built_once_until_its_folder_changes(
    provider: DockerProvider, engine: Engine, tmp_path: Path
) -> None:
    services = services_in(tmp_path, f"{STORE}  main: {{build: ./db}}\n")
    assert isinstance(provider, RunsServices)
    first = provider.prepare_services(services)
    assert first is not None
    assert provider.prepare_services(services) == first
    (tmp_path / "db" / "server.py").write_text("# another\n")
    second = provider.prepare_services(services)
    assert second not in (None, first)
    built = {each.name for each in cleanup.stored_images(engine)}
    for each in (first, second):
        assert each is not None
        with engine.api("find the names of an image") as api:
            names = api.inspect_image(each)["RepoTags"]  # type: ignore[no-untyped-call]  # stubs
        assert set(names) <= built, "`clean` lists it"


def test_a_dockerfile_outside_its_context_counts_for_the_image(
    provider: DockerProvider, tmp_path: Path
) -> None:
    main = "main: {build: {context: ./db, dockerfile: ../other.Dockerfile}}"
    services = services_in(tmp_path, f"{STORE}  {main}\n")
    (tmp_path / "other.Dockerfile").write_text("FROM agentbench/python:3.11\n")
    first = provider.prepare_services(services)
    (tmp_path / "other.Dockerfile").write_text("FROM agentbench/python:3.11\nENV A=1\n")
    assert provider.prepare_services(services) not in (None, first)


def test_a_compose_file_that_is_gone_is_named(provider: DockerProvider, tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=r"gone.yaml: .*no such file"):
        provider.prepare_services(Services(file=tmp_path / "gone.yaml"))


def test_a_service_that_dies_is_reported_with_its_exit_code(opened: Opener) -> None:
    with opened(STORE) as sandbox:
        ask(sandbox, "STOP", "5")
        wait_until(lambda: report(sandbox).failure is not None)
        assert report(sandbox).failure == "ended with exit code 5"
        assert report(sandbox).log.endswith(b"STOP 5\n")


def test_a_service_without_memory_is_reported_as_such(opened: Opener) -> None:
    with opened(STORE) as sandbox:
        ask(sandbox, "EAT")
        wait_until(lambda: report(sandbox).failure is not None)
        assert report(sandbox).failure == "ended with exit code 137, out of memory"


def test_the_files_of_services_count_for_the_disk_limit(
    provider: DockerProvider, image: ImageId, tmp_path: Path
) -> None:
    limits, services = replace(LIMITS, disk_mib=64), services_in(tmp_path)
    with provider.open(
        image, limits=limits, network=False, use=SandboxUse(services=services)
    ) as sandbox:
        script = f"{ASK}\nimport time; time.sleep(1000)"
        argv = ("python", "-c", script, "db", "FILL")
        result = sandbox.run(Command(argv=argv, timeout=timedelta(seconds=HANG_SECONDS)))
    assert result.ending is Ending.OUT_OF_DISK


def test_a_service_that_the_sandbox_needs_the_end_of_has_ended_with_the_end_of_its_log(
    opened: Opener,
) -> None:
    script = json.dumps("for n in range(300_000): print(n, 'x' * 16)")
    image = "image: agentbench/python:3.11"
    with opened(f"{ENDS}  db: {{{image}, command: [python, -c, {script}]}}\n") as sandbox:
        log = report(sandbox).log
    assert log.endswith(b"299999 xxxxxxxxxxxxxxxx\n")
    assert len(log) <= 1 << 20


def test_a_cancelled_run_does_not_wait_for_services(opened: Opener, engine: Engine) -> None:
    before, cancel = left_in(engine), Event()
    cancel.set()
    with pytest.raises(RunCancelled), opened(STORE, cancel=cancel):
        pass
    assert left_in(engine) == before


@pytest.mark.parametrize("seconds", [0.2, 0.4, 0.6, 0.8, 1.0])
def test_a_run_that_is_cancelled_while_services_start_leaves_nothing(
    opened: Opener, engine: Engine, seconds: float
) -> None:
    before, cancel = left_in(engine), Event()
    timer = Timer(seconds, cancel.set)
    timer.start()

    def work() -> None:
        """Open a sandbox, and run something until the run is cancelled."""
        with opened(DEPENDENT_ON_NONE, cancel=cancel) as sandbox:
            sh(sandbox, "sleep 600")

    with pytest.raises(RunCancelled):
        work()
    assert left_in(engine) == before


class LateEngine:
    """An engine that says that a container runs for a while after its processes have ended."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self._status = "running"

    @contextmanager
    def api(self, _doing: str) -> Iterator["LateEngine"]:
        yield self

    def containers(self, **_asked: object) -> list[dict[str, object]]:
        return [{"Labels": {SERVICE_LABEL: "db"}, "Id": "c1"}]

    def top(self, _container: str) -> object:
        answer = self._answers.pop(0)
        if not self._answers:
            self._status = "exited"
        if isinstance(answer, Exception):
            raise answer
        return {"Processes": answer}

    def inspect_container(self, _container: str) -> dict[str, object]:
        code = 4 if self._status == "exited" else 0
        return {"State": {"Status": self._status, "ExitCode": code, "OOMKilled": False}}

    def logs(self, _container: str, **_asked: object) -> bytes:
        return b""


@pytest.mark.parametrize(
    ("answers", "failure"),
    [
        ((None, None, SandboxError("container c1 is not running")), "ended with exit code 4"),
        (([], SandboxError("no running task found")), "ended with exit code 4"),
        (([["1", "server"]], "never asked"), None),
        ((SandboxError("ps: executable file not found"), "never asked"), None),
    ],
)
def test_a_service_that_ends_with_the_last_test_is_reported(
    answers: tuple[object, ...], failure: str | None
) -> None:
    model = SimpleNamespace(must_end=lambda _: False, may_end=lambda _: False)
    project = ComposeProject(LateEngine(*answers), model, SimpleNamespace(name="p"))
    (found,) = project.reports()
    assert found.failure == failure


def test_a_fault_in_the_block_removes_everything(opened: Opener, engine: Engine) -> None:
    before = left_in(engine)

    def fail() -> None:
        """Open a sandbox, and raise an exception in it."""
        with opened(WHOLE) as sandbox:
            assert len(left_in(engine) - before) > 3
            sandbox.kill()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert left_in(engine) == before


OWN_SETTINGS = """\
services:
  db: {image: "agentbench/python:3.11", command: [sleep, infinity]}
  twin: {image: agentbench-main-image, command: [sh, -c, "echo ready; sleep infinity"]}
  main:
    hostname: desk
    cap_drop: [CHOWN]
    tmpfs: ["/scratch:size=1m"]
    shm_size: 32m
    ulimits: {nofile: 99}
    extra_hosts: ["far:10.9.8.7"]
    environment: {MINE: "1"}
    command: [sh, -c, "echo $$MINE $$PORT > /tmp/begun; sleep infinity"]
    secrets: [token]
secrets: {token: {file: ./db/server.py}}
"""


def test_the_sandbox_has_the_settings_of_main(
    provider: DockerProvider, image: ImageId, tmp_path: Path
) -> None:
    services = replace(services_in(tmp_path, OWN_SETTINGS), main_image=image)
    limits, use = replace(LIMITS, user="root"), SandboxUse(services=services)
    with provider.open(image, limits=limits, network=False, use=use) as sandbox:
        script = """
hostname; ulimit -n; echo $MINE; stat -f -c %T /scratch; getent hosts far | cut -d ' ' -f 1
df -m --output=size /dev/shm | tail -n 1 | tr -d ' '; touch /tmp/x
chown 1000 /tmp/x 2> /dev/null || echo no; cmp /run/secrets/token /in || grep -c SET /run/secrets/*
"""
        said = sh(sandbox, script).stdout.split()
        assert said[:7] == ["desk", "99", "1", "tmpfs", "10.9.8.7", "32", "no"]
        assert int(said[7]) > 0
        wait_until(lambda: sh(sandbox, "cat /tmp/begun").stdout == f"1 {PORT}\n")
        assert sh(sandbox, "grep -sl 'sleep[^.]infinity' /proc/[0-9]*/cmdline").ok, "it goes on"
        wait_until(lambda: report(sandbox, "twin").log == b"ready\n")
        sandbox.write_tree(PurePosixPath("/scratch/a"), tar_of_file("b", b"text"))
        assert sh(sandbox, "cat /scratch/a/b; stat -c %u /scratch/a/b").stdout == "text0\n"


def test_commands_run_in_a_service_and_its_files_are_read_also_after_its_end(
    opened: Opener,
) -> None:
    with opened(STORE) as sandbox:
        assert isinstance(sandbox, HasServices)
        said: list[bytes] = []
        minute = timedelta(minutes=1)

        def run(script: str, *, user: str | None = None, timeout: timedelta = minute) -> int | None:
            """Run a script in the service."""
            command = Command(
                argv=("sh", "-c", script),
                timeout=timeout,
                user=user,
                sink=lambda _stream, data: said.append(data),
            )
            return sandbox.run_in_service("db", command)

        assert run("mkdir /srv/out && echo 1 > /srv/out/a && id -u", user="root") == 0
        assert run("exit 3") == 3
        assert b"".join(said) == b"0\n"
        assert run("sleep 600", timeout=timedelta(seconds=0.2)) is None
        ask(sandbox, "STOP", "5")
        wait_until(lambda: report(sandbox).failure is not None)
        out = PurePosixPath("/srv/out")
        with sandbox.read_from_service("db", out) as chunks, open_tar_stream(chunks) as archive:
            assert [each.name for each in archive] == ["out", "out/a"]
        with pytest.raises(SandboxError), sandbox.read_from_service("db", PurePosixPath("/none")):
            pass
        with pytest.raises(SandboxError):
            run("true")
        with pytest.raises(SandboxError, match="there is no service gone"):
            sandbox.run_in_service("gone", Command(argv=("true",), timeout=minute))


def test_a_lasting_sandbox_reaches_the_outside_once_it_is_connected(
    provider: DockerProvider, image: ImageId, engine: Engine, tmp_path: Path
) -> None:
    use = SandboxUse(services=services_in(tmp_path), lasting=True, changes_network=True)
    with (
        provider.open(image, limits=LIMITS, network=False, use=use) as sandbox,
        listening() as port,
    ):
        assert isinstance(sandbox, LastingSandbox)
        assert not connects(sandbox, bridge_of(engine), port)
        sandbox.set_network(True)
        assert connects(sandbox, bridge_of(engine), port)
        assert ask(sandbox, "GET", "a") == "none"
        known = sh(sandbox, "grep nameserver /etc/resolv.conf").stdout.split()[1::2]
        assert tuple(known[1:]) == resolvers()


def test_a_service_is_started_again_as_its_file_says(opened: Opener) -> None:
    with opened(STORE.replace("    ports:", "    restart: always\n    ports:")) as sandbox:
        ask(sandbox, "STOP", "5")
        wait_until(lambda: ask(sandbox, "GET", "a") == "none")
        assert report(sandbox).failure is None


HARNESS = """
import sys
from pathlib import Path, PurePosixPath
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, Limits, SandboxUse, Services
services = Services(file=Path(sys.argv[2]), env={"PORT": sys.argv[3]})
with DockerProvider.connect().open(
    ImageId(sys.argv[1]), limits=Limits(), network=False, use=SandboxUse(services=services)
) as sandbox:
    print(sandbox._project._settings.name, flush=True)
    sys.stdin.read()
"""


def things_of(engine: Engine, project: str) -> list[str]:
    """What an engine has of a project."""
    ours = {"label": f"{PROJECT}={project}"}
    with engine.api("look for a project") as api:
        containers = [each["Id"] for each in api.containers(all=True, filters=ours)]
        networks = [each["Id"] for each in api.networks(filters=ours)]
        volumes = [each["Name"] for each in api.volumes(filters=ours)["Volumes"] or []]
    return [*containers, *networks, *volumes]


@pytest.fixture
def harness(image: ImageId, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    services = services_in(tmp_path, WHOLE)
    argv = [sys.executable, "-c", HARNESS, image, str(services.file), PORT]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_ctrl_c_removes_all_services(harness: subprocess.Popen[str], engine: Engine) -> None:
    assert harness.stdout is not None
    project = harness.stdout.readline().strip()
    assert len(things_of(engine, project)) == 5  # two services, two networks, a volume
    harness.send_signal(signal.SIGINT)
    _, said = harness.communicate(timeout=HANG_SECONDS)
    assert "KeyboardInterrupt" in said
    assert things_of(engine, project) == []


def test_the_next_start_removes_the_services_of_a_killed_harness(
    harness: subprocess.Popen[str], engine: Engine
) -> None:
    assert harness.stdout is not None
    project = harness.stdout.readline().strip()
    found = things_of(engine, project)
    harness.kill()
    harness.wait(HANG_SECONDS)
    assert len(found) == 5
    wait_until(
        lambda: cleanup.remove_dead_orphans(engine) is not None and not things_of(engine, project)
    )


def test_compose_that_is_missing_is_unavailable_with_a_remedy(
    provider: DockerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="services need Docker Compose 2, and"):
        DockerProvider(provider.engine).prepare_services(services_in(tmp_path))


def test_a_file_that_compose_refuses_is_named_with_the_reason(
    provider: DockerProvider, tmp_path: Path
) -> None:
    services = services_in(tmp_path, "services: {db: {image: a, depends_on: [gone]}}\n")
    with pytest.raises(ServiceError, match=r'docker-compose.yaml: .*"gone"'):
        provider.prepare_services(services)


def test_no_variable_of_this_machine_reaches_a_service(
    provider: DockerProvider, image: ImageId, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    text = f"{STORE}  main: {{environment: {{TOKEN: '${{SOME_TOKEN:-none}}', SOME_TOKEN: }}}}\n"
    services = services_in(tmp_path, text)
    with provider.open(
        image, limits=LIMITS, network=False, use=SandboxUse(services=services)
    ) as sandbox:
        assert sh(sandbox, 'echo "$TOKEN$SOME_TOKEN"').stdout == "none\n"


class ProviderWithServices(DockerProvider):
    """A provider whose sandboxes all have a service beside them."""

    services: Services | None = None

    # The options are those of the provider, which checks them.
    def open(self, *args: Any, **options: Any) -> AbstractContextManager[Sandbox]:
        use = replace(options.pop("use", ORDINARY_USE), services=self.services)
        return super().open(*args, use=use, **options)


class TestConformanceWithServices(SandboxConformance):
    """A sandbox with services keeps every promise."""

    @pytest.fixture(scope="class")
    @classmethod
    def provider(cls, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> SandboxProvider:
        provider = ProviderWithServices(engine)
        provider.services = services_in(tmp_path_factory.mktemp("services"), IDLE)
        return provider

    @pytest.fixture(scope="class")
    @classmethod
    def gaps(cls) -> frozenset[Promise]:
        return frozenset()

    @pytest.fixture(scope="class")
    @classmethod
    def reconnect(cls) -> Callable[[], SandboxProvider]:
        return DockerProvider.connect

    @pytest.fixture(scope="class")
    @classmethod
    def leftovers(cls, engine: Engine) -> Callable[[], frozenset[str]]:
        return lambda: left_in(engine)

    @pytest.fixture(scope="class")
    @classmethod
    def reachable_host(cls, engine: Engine) -> str:
        return bridge_of(engine)
