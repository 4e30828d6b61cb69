"""The provider of Docker sandboxes, images and snapshots."""

import copy
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from threading import Event
from typing import TYPE_CHECKING

from agentbench.core.background_tasks import BackgroundTasks
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox import interface
from agentbench.sandbox.docker import cleanup, images, snapshots
from agentbench.sandbox.docker.archives import owned_folders
from agentbench.sandbox.docker.container import ContainerLauncher, DockerContainer
from agentbench.sandbox.docker.container_options import (
    NESTING_READY,
    ContainerPlan,
    mount_paths,
)
from agentbench.sandbox.docker.engine import Engine, EngineProduct, ImageFacts
from agentbench.sandbox.docker.nesting import NestingSandbox, nesting_files, why_not_nesting
from agentbench.sandbox.docker.public_network import public_network
from agentbench.sandbox.docker.sandbox import DockerSandbox
from agentbench.sandbox.docker.shared_containers import ContainerKey, SharedContainers
from agentbench.sandbox.host_environment import ca_bundle, ca_variables, forwarded_settings
from agentbench.sandbox.ownership import ENTRYPOINT, RECIPE, WORKDIR, ProcessOwner
from agentbench.tasks.users import AGENT_USER, UserName

if TYPE_CHECKING:
    from agentbench.sandbox.docker.compose import ComposeRunner

_CA_MOUNT = "ca-certificates.crt"


class DockerProvider:
    """Opens sandboxes in containers of one engine; thread-safe."""

    def __init__(self, engine: Engine, *, host_env: Mapping[str, str] | None = None) -> None:
        self.engine = engine
        self._host_env = os.environ if host_env is None else host_env
        self._launcher = ContainerLauncher(engine)
        self._owner = ProcessOwner.current()
        self._snapshots: dict[str, ImageFacts] = {}  # the snapshots found by `find`
        self._without_nesting: set[str] = set()  # images in which no nested sandbox works
        self._shared: SharedContainers | None = None  # None: each sandbox has a container

    @classmethod
    def connect(
        cls, *, base_url: str | None = None, host_env: Mapping[str, str] | None = None
    ) -> "DockerProvider":
        """A provider whose engine answers: the given one, DOCKER_HOST's or the default one.

        Raises:
            UnavailableError: no engine answers, or it is too old; the message says what to do.
        """
        return cls(Engine.connect(base_url), host_env=host_env)

    @cached_property
    def _compose(self) -> "ComposeRunner":
        # Few runs need it, and its import takes a tenth of a second.
        from agentbench.sandbox.docker.compose import ComposeRunner

        return ComposeRunner(self.engine, self._owner)

    @property
    def name(self) -> str:
        return "docker"

    def remove_dead_orphans(self) -> Mapping[str, int]:
        return Counter(orphan.kind for orphan in cleanup.remove_dead_orphans(self.engine))

    @property
    def promises(self) -> frozenset[interface.Promise]:
        return self.engine.facts.promises

    def describe(self) -> Mapping[str, str]:
        facts = self.engine.facts
        return {
            "engine": f"{facts.product} {facts.version}",
            "api": facts.api_version,
            "system": f"{facts.operating_system} ({facts.architecture})",
            "kernel": facts.kernel,
            "storage": facts.storage_driver,
            "cgroup": facts.cgroup_version,
            "isolation": facts.isolation,
            "disk_limit": "watched while commands run; each file by a limit of its own",
            "files": "shared" if self._launcher.shares_files else "copied in",
        }

    @property
    def disk_folders(self) -> tuple[Path, ...]:
        """The engine's folder, if it is on this machine."""
        root = Path(self.engine.facts.root)
        return (root,) if self.engine.address.is_local and root.is_dir() else ()

    def check(self) -> None:
        self.engine.require_answer()

    def resolve_image(
        self,
        image: str | None,
        *,
        dockerfile: Path | None = None,
        workdir: PurePosixPath | None = None,
        user: UserName = AGENT_USER,
    ) -> interface.ImageId:
        found = images.resolve_image(self.engine, image, dockerfile=dockerfile)
        if workdir is None:
            return found
        return images.with_workdir(self.engine, found, workdir, user)

    def build_base_image(
        self, python: str, *, progress: Callable[[str], None] = lambda _line: None
    ) -> None:
        images.build_base_image(self.engine, python, progress=progress)

    def has_image(self, image: str) -> bool:
        return images.image_exists(self.engine, image)

    def image_settings(self, image: str) -> interface.ImageSettings:
        facts = self.engine.image(image)
        workdir = PurePosixPath(facts.workdir) if facts.workdir else None
        return interface.ImageSettings(workdir=workdir, user=facts.user)

    def is_outdated(self, python: str) -> bool:
        return images.is_outdated(self.engine, python)

    def image_bytes(self) -> int:
        return images.image_bytes(self.engine)

    def may_nest(self, limits: interface.Limits) -> bool:
        """Whether a sandbox with these limits can hold others, as far as it is known."""
        return why_not_nesting(self.engine, limits) is None

    def sharing_containers(self, background: BackgroundTasks) -> "DockerProvider":
        sharing = copy.copy(self)
        sharing._shared = SharedContainers(background)
        return sharing

    def check_runtime(self, runtime: str) -> None:
        if runtime not in (known := self.engine.facts.runtimes):
            raise UnavailableError(
                f"the engine has no runtime {runtime!r}; it has: {', '.join(known) or 'unknown'}"
            )

    def check_services(self) -> None:
        self._compose.check()

    def prepare_services(self, services: interface.Services) -> interface.ImageId | None:
        return self._compose.prepare(services)

    @contextmanager
    def open(
        self,
        source: interface.ImageId | interface.SnapshotId,
        *,
        limits: interface.Limits,
        network: bool,
        mounts: Sequence[interface.ReadOnlyMount] = (),
        cancel: Event | None = None,
        use: interface.SandboxUse = interface.ORDINARY_USE,
    ) -> Iterator[interface.Sandbox]:
        shared, is_plain = self._shared, not network and use.services is None
        if use.brief and shared is not None and is_plain and self.may_nest(limits):
            key = ContainerKey(source, limits, tuple(mounts))
            nesting = replace(use, brief=False, nests=True)

            def opened() -> AbstractContextManager[interface.Sandbox]:
                return self.open(
                    source,
                    limits=limits,
                    network=False,
                    mounts=mounts,
                    cancel=cancel,
                    use=nesting,
                )

            with shared.sandbox(key, opened, cancel or Event()) as sandbox:
                yield sandbox
            return
        plan, is_ours = self._plan(source, limits)
        nests = use.nests and not network and source not in self._without_nesting
        nests = nests and use.services is None and self.may_nest(limits)
        plan = replace(plan, use=replace(use, nests=False))
        if network or use.changes_network:
            env = forwarded_settings(self._host_env)
            if (bundle := ca_bundle(self._host_env)) is not None:
                env |= ca_variables(str(interface.MOUNTS / _CA_MOUNT))
                mounts = (*mounts, interface.ReadOnlyMount(name=_CA_MOUNT, source=bundle))
            public = public_network(self.engine)
            plan = replace(plan, network=network, public_network=public, env=env)
        with ExitStack() as stack:
            project = None
            if use.services is not None:
                started = self._compose.started(use.services, plan, cancel)
                project = stack.enter_context(started)
                project.reach(network)
                plan = project.joined(plan)
            if nests:
                holder = stack.enter_context(self._nesting(plan, mounts, is_ours=is_ours))
                if holder is not None:
                    yield holder
                    return
            container = stack.enter_context(self._launched(plan, mounts, is_ours=is_ours))
            container.run_main()
            mounted = (*container.plan.bound, *container.plan.copied)
            yield DockerSandbox(
                self.engine,
                container,
                mounts=mount_paths(mounted),
                cancel=cancel,
                project=project,
            )

    @contextmanager
    def _launched(
        self, plan: ContainerPlan, mounts: Sequence[interface.ReadOnlyMount], *, is_ours: bool
    ) -> Iterator[DockerContainer]:
        with self._launcher.launched(plan, mounts) as container:
            if not is_ours or plan.owner_id == 0:
                # It gets the folders of the commands' user, and git settings.
                settings = interface.GIT_CONFIGURATION.encode()
                if plan.owner_id:
                    folders = (plan.workspace, interface.RESULTS, interface.HOME)
                    own = {interface.HOME / ".gitconfig": settings}
                    archives = [owned_folders(folders, own)]
                else:  # any user of the image; the workspace is the image's
                    made = () if plan.own_workspace else (plan.workspace,)
                    archives = [
                        owned_folders(made, {PurePosixPath("/etc/gitconfig"): settings}, 0),
                        owned_folders((interface.RESULTS,), {}, 0, mode=0o777),
                    ]
                with self.engine.api("prepare a container of a foreign image") as api:
                    for files in archives:
                        api.put_archive(container.name, "/", files)
            yield container

    @contextmanager
    def _nesting(
        self, plan: ContainerPlan, mounts: Sequence[interface.ReadOnlyMount], *, is_ours: bool
    ) -> Iterator[NestingSandbox | None]:
        """A container that holds sandboxes; None if this fails with its image or its engine."""
        with ExitStack() as stack:
            files = stack.enter_context(nesting_files(plan.limits, plan.hostname, mounts))
            nesting = replace(plan, use=replace(plan.use, nests=True))
            container = None
            with suppress(SandboxError):  # if the engine is lost, the next call reports it
                launched = self._launched(nesting, (*mounts, files), is_ours=is_ours)
                container = stack.enter_context(launched)
            if container is not None and container.path_exists(str(NESTING_READY)):
                yield NestingSandbox(
                    self.engine, container, mounts=mount_paths(mounts), cancel=None
                )
                return
        self._without_nesting.add(plan.image)
        yield None

    def find(self, key: str) -> interface.SnapshotId | None:
        found = snapshots.find_snapshot(self.engine, key)
        if found is None:
            return None
        snapshot = snapshots.id_of(key)
        self._snapshots[snapshot] = found
        return snapshot

    def discard(self, snapshot: interface.SnapshotId) -> None:
        self._snapshots.pop(snapshot, None)
        snapshots.discard_snapshot(self.engine, snapshot)

    def push(self, snapshot: interface.SnapshotId, name: str, note: bytes) -> None:
        self._require_docker()
        snapshots.push_snapshot(self.engine, snapshot, name, note, owner=self._owner)

    def pull(self, name: str, key: str) -> bytes | None:
        self._require_docker()
        return snapshots.pull_snapshot(self.engine, name, key)

    def _require_docker(self) -> None:
        # Images that Podman commits declare the volumes of their container.
        if self.engine.facts.product is EngineProduct.PODMAN:
            raise SandboxError("Podman's snapshots cannot be shared through a registry; use Docker")

    def _plan(self, source: str, limits: interface.Limits) -> tuple[ContainerPlan, bool]:
        image = self._snapshots.get(source) or self.engine.image(source)
        own = image.labels.get(WORKDIR)
        plan = ContainerPlan(
            image=source,
            image_env=image.env,
            limits=limits,
            owner=self._owner,
            workspace=interface.WORKSPACE if own is None else PurePosixPath(own),
            own_workspace=own is not None,
            entrypoint=image.labels.get(ENTRYPOINT),
            user_processes=self.engine.facts.user_processes,
        )
        return plan, RECIPE in image.labels
