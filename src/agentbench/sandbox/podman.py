"""What Podman's Docker-compatible API leaves out, asked for by its own."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.docker_archive import owned_folders
from agentbench.sandbox.docker_engine import Api
from agentbench.sandbox.docker_options import USER

_API = "v4.0.0/libpod"  # Podman 4.0 and all later ones
_CREATE_SECONDS = 60
_SETTLE_SECONDS = 300
_INCOMING = PurePosixPath("/workspace.incoming")
# Podman's archives say that all belongs to root.
_SETTLE = f'rm -rf "$1" && mv {_INCOMING} "$1" && chown -Rh {USER} "$1"'
_FEW = 1024


def make_holder(
    api: Api,
    name: str,
    image: str,
    *,
    labels: Mapping[str, str],
    place: PurePosixPath,
    files: Iterable[bytes],
) -> None:
    """A container that has a workspace, which comes as a tar stream, as a folder of its own.

    Podman notes in an image the volumes of the container which it was made from, and would give
    them to this one too; what is written into a volume does not become part of the next image.

    Raises:
        SandboxError: Podman refuses, or the workspace does not get there.
    """
    _create(api, name, image, place, labels)
    api.put_archive(name, "/", owned_folders((_INCOMING,), {}))
    api.put_archive(name, str(_INCOMING), files)
    api.start(name)
    code = api.wait(name, timeout=_SETTLE_SECONDS)["StatusCode"]
    if code != 0:
        raise SandboxError(f"the workspace of {image} could not be kept: exit code {code}")


def _create(
    api: Api, name: str, image: str, place: PurePosixPath, labels: Mapping[str, str]
) -> None:
    wanted = {
        "name": name,
        "image": image,
        "image_volume_mode": "ignore",
        "entrypoint": ["/bin/sh", "-c", _SETTLE, "sh", str(place)],
        "command": [],
        "user": "0:0",
        "netns": {"nsmode": "none"},
        "cap_drop": ["all"],
        "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
        "no_new_privileges": True,
        "labels": dict(labels),
        "r_limits": [_limit("nofile"), _limit("nproc")],
    }
    url = f"{api.base_url}/{_API}/containers/create"
    answer = api.post(url, json=wanted, timeout=_CREATE_SECONDS)
    if not answer.ok:
        raise SandboxError(f"cannot create a container of {image}: {answer.text.strip()}")


def _limit(kind: str) -> dict[str, object]:
    """One that Podman may surely set: its own default is more than root may have everywhere."""
    return {"type": kind, "soft": _FEW, "hard": _FEW}
