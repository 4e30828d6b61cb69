"""The settings in a compose file for the sandbox itself, the service `main`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from agentbench.sandbox.docker.compose_model import ComposeModel, ProjectSettings
from agentbench.sandbox.docker.compose_schema import Service
from agentbench.sandbox.docker.container_options import ContainerPlan, NetworkAttachment
from agentbench.sandbox.docker.shared_network import holder_of
from agentbench.tasks.compose_file import MAIN

_OWN_ULIMITS = frozenset({"core", "fsize"})  # they protect the machine
_SLEEPERS = frozenset({"sleep", "tail"})
_SHELLS = frozenset({"sh", "bash"})


def with_main(plan: ContainerPlan, model: ComposeModel, project: ProjectSettings) -> ContainerPlan:
    """The plan of a sandbox in the project's networks, with the settings of `main`."""
    main = model.services[MAIN]
    holder = None if project.shared is None else holder_of(project.name)
    networks = tuple(
        NetworkAttachment(name=project.full_name(name), aliases=(MAIN, *network.aliases))
        for name, network in model.main_networks().items()
    )
    # Compose doubles each dollar sign in its output.
    env = {name: _plain(value or "") for name, value in main.environment.items()}
    proxies = dict(plan.env)
    if any(name.lower().endswith("_proxy") for name in proxies):  # not for services
        for variable in ("no_proxy", "NO_PROXY"):
            known = proxies.get(variable)
            proxies[variable] = ",".join([*([known] if known else []), *model.beside])
    tmpfs = (each.partition(":")[::2] for each in main.tmpfs)
    mounted = ((each.target, "") for each in main.volumes if each.type == "tmpfs")
    return replace(
        plan,
        env=proxies,
        main_env=env,
        networks=networks if holder is None else (),
        network_holder=holder,
        shared=(
            *_volumes(main, project),
            *(_bind(source, target) for source, target in model.shared_files(main)),
        ),
        hostname=main.hostname or plan.hostname,
        dropped=main.cap_drop,
        tmpfs=dict((*tmpfs, *mounted)),
        extra={
            # Docker accepts no extra hosts in a shared network.
            "ExtraHosts": [each.replace("=", ":", 1) for each in main.extra_hosts if not holder],
            "GroupAdd": [*main.group_add],
            **({"ShmSize": main.shm_size} if main.shm_size else {}),
        },
        ulimits=tuple(_ulimits(main)),
        command=_command(main),
        command_user=main.user,
        command_folder=main.working_dir,
    )


def _plain(text: str) -> str:
    return text.replace("$$", "$")


def _volumes(main: Service, project: ProjectSettings) -> Iterator[Mapping[str, object]]:
    for each in main.volumes:
        if each.type == "bind":
            yield _bind(each.source, each.target)
        elif each.type == "volume":
            yield {
                "Type": "volume",
                "Source": project.full_name(each.source) if each.source else "",
                "Target": each.target,
                "ReadOnly": each.read_only,
                "VolumeOptions": {"Labels": dict(project.labels)},
            }


def _bind(source: str, target: str) -> Mapping[str, object]:
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": True}


def _ulimits(main: Service) -> Iterator[Mapping[str, object]]:
    for name, value in main.ulimits.items():
        limits = value if isinstance(value, dict) else {"soft": value, "hard": value}
        if name not in _OWN_ULIMITS:
            yield {"Name": name, "Soft": limits.get("soft"), "Hard": limits.get("hard")}


def _command(main: Service) -> tuple[str, ...]:
    """The program that runs alongside the commands; empty if it only keeps the container alive."""
    argv = tuple(map(_plain, (*(main.entrypoint or ()), *(main.command or ()))))
    words = " ".join(argv).removeprefix("sh -c ").removeprefix("bash -c ").split()
    program = words[0].rpartition("/")[2] if words else ""
    is_idle = program in _SLEEPERS and {";", "&&"}.isdisjoint(words)
    return () if is_idle or (program in _SHELLS and len(words) == 1) else argv
