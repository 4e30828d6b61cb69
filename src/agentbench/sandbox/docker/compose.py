"""The services of a sandbox: a Compose project, from the build of its images to its removal.

Compose starts the services. The sandbox is a container of our own in the project's networks, so it
has the same options as every other sandbox. The project is removed by its label, like the remains
of a killed run.
"""

import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Event, Lock

from agentbench.core.files import owned_folder
from agentbench.core.network import Network
from agentbench.errors import RunCancelled, SandboxError, ServiceError, UnavailableError
from agentbench.sandbox.docker import images
from agentbench.sandbox.docker.cleanup import remove_project
from agentbench.sandbox.docker.compose_model import (
    SERVICE_LABEL,
    ComposeModel,
    ProjectSettings,
    Service,
    build_inputs,
    with_main,
)
from agentbench.sandbox.docker.compose_program import ComposeProgram, find_compose
from agentbench.sandbox.docker.container import ContainerPlan, WritableFolders
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.networks import (
    HOLDER,
    JsonTable,
    SharedNetwork,
    holder_of,
    packet_size,
)
from agentbench.sandbox.interface import ImageId, ServiceReport, Services
from agentbench.sandbox.ownership import PROJECT, ProcessOwner, labels_of
from agentbench.scoring.classification import network_failure
from agentbench.tasks.compose_file import MAIN, MAIN_IMAGE, main_has_image, networked_services
from agentbench.taxonomy import Fault

_START_SECONDS = 600.0  # until all services are healthy
_POLL = 0.1  # seconds; a health check has no event
_GONE = re.compile(r"not running|no running task|process not found|no such process")
_NOTICES_WITHIN = 10.0  # seconds in which an engine notices the end of a container
_LOG_BYTES = 1 << 20  # of each service
_KILLED = frozenset({137, 143})  # by SIGKILL or SIGTERM, as by an engine that stops
_LINE = 300  # characters of a message
_INHIBIT_ADDRESS = {"com.docker.network.bridge.inhibit_ipv4": "true"}

_IMAGE_LABELS: JsonTable = {**labels_of("task-image")}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServiceState:
    """The state of a service's container."""

    service: str
    container: str
    runs: bool
    is_ready: bool
    failure: str | None
    killed: bool  # by the engine, or by a person
    stopped: str | None  # how it ended; a failure once the sandbox is open


class ComposeProject:
    """The running services of one sandbox."""

    def __init__(self, engine: Engine, model: ComposeModel, settings: ProjectSettings) -> None:
        self._engine = engine
        self._model = model
        self._settings = settings
        self._links: set[str] = set()  # to services outside of a shared network

    def reach(self, network: Network) -> None:
        """Connect the sandbox to the services outside of its network that a stage may reach."""
        project, shared = self._settings.name, self._settings.shared
        for link, may in () if shared is None else shared.links(project, network):
            if may == (link in self._links):
                continue
            with self._engine.api("connect a sandbox to a service") as api:
                if may:
                    api.connect_container_to_network(holder_of(project), link)
                else:
                    api.disconnect_container_from_network(holder_of(project), link)
            self._links ^= {link}

    def joined(self, plan: ContainerPlan) -> ContainerPlan:
        return with_main(plan, self._model, self._settings)

    def reports(self) -> tuple[ServiceReport, ...]:
        # The engine says that a container has ended only after it has cleaned up, which takes long
        # on a loaded machine. A service that ends with the last test would be missed.
        for each in self._states():
            deadline = time.monotonic() + (_NOTICES_WITHIN if each.runs else 0)
            while time.monotonic() < deadline and not self._has_processes(each.container):
                time.sleep(_POLL)
        return tuple(
            ServiceReport(
                name=each.service,
                log=self._log_of(each),
                failure=each.failure or each.stopped,
                killed=each.killed,
            )
            for each in self._states()
        )

    def _has_processes(self, container: str) -> bool:
        try:
            with self._engine.api("look at a service's processes") as api:
                return bool((api.top(container) or {}).get("Processes"))
        except SandboxError as error:
            # Other errors, such as of an engine without `ps`, say nothing about the service.
            if not _GONE.search(str(error)):
                return True
            with self._engine.api("look at a service") as api:
                return str(api.inspect_container(container)["State"]["Status"]) != "running"

    def container_of(self, service: str) -> str:
        for state in self._states():
            if state.service == service:
                return state.container
        raise SandboxError(f"{self._model.file}: there is no service {service}")

    def folders(self) -> list[str]:
        containers = (state.container for state in self._states())
        return [
            folder for each in containers for folder in WritableFolders.of(self._engine, each).all
        ]

    def wait(self, cancel: Event | None) -> None:
        """Wait until each service is healthy, or has ended if the sandbox needs its end.

        Raises:
            ServiceError: a service has failed, or is not healthy in time.
            RunCancelled: the run was cancelled.
        """
        deadline = time.monotonic() + _START_SECONDS
        while True:
            states = self._states()
            self.require_success(states)
            waiting = sorted(each.service for each in states if not each.is_ready)
            if not waiting:
                return
            if time.monotonic() > deadline:
                names = ", ".join(waiting)
                raise self._error(f"not healthy after {_START_SECONDS:.0f} s: {names}")
            if cancel is not None and cancel.wait(_POLL):
                raise RunCancelled
            if cancel is None:
                time.sleep(_POLL)

    def require_success(self, states: tuple[_ServiceState, ...] | None = None) -> None:
        """Raise ServiceError with the last line of its log if a service has failed."""
        for state in self._states() if states is None else states:
            if state.failure is not None:
                lines = self._log_of(state).decode("utf-8", "replace").strip().splitlines()
                last = f" ({lines[-1].strip()[:_LINE]})" if lines else ""
                fault = Fault.INFRASTRUCTURE if state.killed else Fault.TASK
                raise self._error(f"service {state.service} {state.failure}{last}", fault)

    def _error(self, what: str, fault: Fault = Fault.TASK) -> ServiceError:
        error = ServiceError(f"{self._model.file}: {what}", fault=fault)
        with suppress(SandboxError):
            error.logs = {each.name: each.log for each in self.reports()}
        return error

    def _states(self) -> tuple[_ServiceState, ...]:
        filters = {"label": f"{PROJECT}={self._settings.name}"}
        with self._engine.api("look at the services") as api:
            found = [
                (str(each["Labels"].get(SERVICE_LABEL)), str(each["Id"]))
                for each in api.containers(all=True, filters=filters)
            ]
        return tuple(self._state_of(*each) for each in sorted(found) if each[0] != HOLDER)

    def _state_of(self, service: str, container: str) -> _ServiceState:
        with self._engine.api(f"look at the service {service}") as api:
            state = api.inspect_container(container)["State"]
        status, code, health = state["Status"], int(state["ExitCode"]), state.get("Health") or {}
        failure = None
        if status in {"exited", "dead"} and (code or state["OOMKilled"]):
            failure = f"ended with exit code {code}"
            failure += ", out of memory" if state["OOMKilled"] else ""
        elif status == "created" and code:
            failure = f"did not start: {str(state.get('Error'))[:_LINE]}"
        elif status == "running" and health.get("Status") == "unhealthy":
            output = str((health.get("Log") or [{}])[-1].get("Output", ""))
            failure = f"is unhealthy: {' '.join(output.split())[-_LINE:] or 'its check fails'}"
        is_healthy = health.get("Status", "none") in {"healthy", "none", ""}
        runs = status == "running" and is_healthy and not self._model.must_end(service)
        is_ready = status == "exited" or runs
        # A service with a health check must run until the end, also if it ends without a failure.
        has_stopped = status == "exited" and health and not self._model.may_end(service)
        stopped = "ended with exit code 0" if has_stopped else None
        return _ServiceState(
            service=service,
            container=container,
            runs=status == "running",
            is_ready=is_ready,
            failure=failure,
            stopped=stopped,
            killed=status in {"exited", "dead"} and code in _KILLED and not state["OOMKilled"],
        )

    def _log_of(self, state: _ServiceState) -> bytes:
        with suppress(DockerNotFoundError), self._engine.api("read a service's log") as api:
            log: bytes = api.logs(state.container, stdout=True, stderr=True)
            return log[-_LOG_BYTES:]
        return b""


def check_compose_file(services: Services) -> None:
    """Check the settings of a compose file, if Compose is installed.

    Raises:
        ServiceError: Compose cannot read it, or a setting is refused; the message names each one
            with its field.
        SandboxError: Compose does not end in time.
    """
    try:
        program = find_compose()
    except UnavailableError:
        return
    _read_model(program, services, None)


class ComposeRunner:
    """Builds, starts and removes the services of sandboxes in one engine; thread-safe."""

    def __init__(self, engine: Engine, owner: ProcessOwner) -> None:
        self._engine = engine
        self._owner = owner
        self._building = Lock()

    def check(self) -> None:
        _ = self._program

    def prepare(self, services: Services) -> ImageId | None:
        model = _read_model(self._program, services, None)
        found = self._images(services, model, model.services, None)
        return images.resolve_image(self._engine, found[MAIN]) if MAIN in found else None

    @contextmanager
    def started(
        self, services: Services, plan: ContainerPlan, cancel: Event | None
    ) -> Iterator[ComposeProject]:
        """Start services; they are removed when the block ends.

        Raises:
            ServiceError: a service does not start, or never becomes healthy.
            RunCancelled: `cancel` was set; no further service is started.
        """
        model, limits = _read_model(self._program, services, cancel), plan.limits
        network = plan.network and not (plan.use.changes_network or services.on_localhost)
        name = f"agentbench-{uuid.uuid4().hex}"
        labels = {**labels_of("sandbox", self._owner), PROJECT: name}
        shared = None
        if services.on_localhost and model.other_services:
            shared = SharedNetwork(
                image=plan.image,
                outside=networked_services(services.file) & model.other_services.keys(),
                resolves_names=plan.network or plan.use.changes_network,
            )
        settings = ProjectSettings(
            name=name,
            labels=labels,
            images=self._images(services, model, model.other_services, cancel),
            limits=replace(limits, cpus=min(limits.cpus, self._engine.facts.cpus)),
            network_options=packet_size(self._engine) if network else _INHIBIT_ADDRESS,
            network=network,
            shared=shared,
        )
        project = ComposeProject(self._engine, model, settings)
        document = model.document(settings)
        try:
            if model.other_services:
                try:
                    self._start(project, document, cancel)
                except (RunCancelled, SandboxError):
                    # The engine may still work on the requests of a Compose that was killed, and
                    # create a network after the project's removal. It creates networks one at a
                    # time, so one that we create now comes last. It is removed with the project.
                    with suppress(SandboxError), self._engine.api("create a network") as api:
                        api.create_network(f"{name}_last", labels=labels)
                    raise
            yield project
        except BaseException:
            with suppress(SandboxError):  # report the first error
                remove_project(self._engine, name)
            raise
        remove_project(self._engine, name)

    @cached_property
    def _program(self) -> ComposeProgram:
        return find_compose(self._engine.facts, self._engine.address.passed_on)

    def _start(
        self, project: ComposeProject, document: Mapping[str, object], cancel: Event | None
    ) -> None:
        outcome = self._program.run_document(
            document,
            *("up", "--detach", "--no-build"),
            seconds=_START_SECONDS,
            cancel=cancel,
        )
        if outcome.code:
            project.require_success()
            raise SandboxError(f"the services cannot be started: {outcome.last_message[:_LINE]}")
        project.wait(cancel)

    def _images(
        self,
        services: Services,
        model: ComposeModel,
        which: Mapping[str, Service],
        cancel: Event | None,
    ) -> Mapping[str, str]:
        found: dict[str, str] = {}
        built: dict[str, JsonTable] = {}
        for name, service in which.items():
            if service.build is not None:
                inputs = build_inputs(service.build)
                folder = Path(str(inputs["context"]))
                # The Dockerfile may be outside of the context, whose files are hashed.
                file = folder / str(inputs.get("dockerfile", "Dockerfile"))
                text = file.read_text(errors="replace") if file.is_file() else ""
                salt = json.dumps([text, {**inputs, "context": ""}], sort_keys=True)
                found[name] = f"{images.TASK_REPOSITORY}:{images.folder_hash(folder, salt)}"
                built[name] = {"image": found[name], "build": {**inputs, "labels": _IMAGE_LABELS}}
            elif service.image == MAIN_IMAGE:
                if services.main_image is not None and name != MAIN:
                    found[name] = services.main_image
            elif service.image is not None:
                images.resolve_image(self._engine, service.image)
                found[name] = service.image
        with self._building:
            missing = {
                name: table
                for name, table in built.items()
                if not images.image_exists(self._engine, found[name])
            }
            outcome = self._program.build(missing, cancel) if missing else None
        if outcome is not None and outcome.code:
            lacks_network = network_failure(outcome.output + outcome.messages)
            raise ServiceError(
                f"{model.file}: cannot build {', '.join(missing)}: "
                f"{outcome.last_message[:_LINE]}\n{outcome.last_output}",
                fault=Fault.INFRASTRUCTURE if lacks_network else Fault.TASK,
            )
        return found


def _read_model(program: ComposeProgram, services: Services, cancel: Event | None) -> ComposeModel:
    file = services.file.resolve()
    words = ["--project-name", "agentbench", "--project-directory", str(file.parent)]
    with owned_folder("agentbench-compose-") as folder:
        # Compose requires an image for each service; the sandbox's own is chosen elsewhere.
        if not main_has_image(file):
            addition = folder / "main.json"
            addition.write_text(json.dumps({"services": {MAIN: {"image": MAIN_IMAGE}}}))
            words = ["--file", str(addition), *words]
        outcome = program.run(
            *("--file", str(file), *words, "config", "--format", "json"),
            variables={**services.env, **services.variables},
            cancel=cancel,
        )
    if outcome.code:
        raise ServiceError(f"{services.file}: {outcome.last_message[:_LINE]}")
    return ComposeModel(services.file, outcome.output)
