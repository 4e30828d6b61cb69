"""The tasks of the trials, with an image for graders that judge in Docker."""

from pathlib import Path
from tarfile import open as open_tar

import docker
from docker.errors import ImageNotFound

from benchmarks.graders.trial import BASE_GIT, GraderTask
from tests.e2e.small_task import SmallTask

_IMAGE = "agentbench-benchmark/graders"
_DOCKERFILE = """\
FROM agentbench/python:3.11
USER root
ENV HOME=/root
RUN apt-get update -q && apt-get install -q -y --no-install-recommends \\
    curl tmux asciinema && rm -rf /var/lib/apt/lists/*
RUN echo "export PATH=$PATH" > /etc/profile.d/path.sh \\
 && git config --system --add safe.directory '*' \\
 && git config --system user.name benchmark && git config --system user.email bench@localhost
WORKDIR /app
"""
# `sleep infinity`, which graders let containers run, ignores the usual signal: each stop of a
# container would take Docker's grace of ten seconds.
_TASK = """\
FROM {base}
STOPSIGNAL SIGKILL
ADD repo.tar /app/
RUN git init -q -b main && git add -A && git commit -qm Base && cp -r .git {base_git}
"""


def prepare(name: str, task: SmallTask, place: Path) -> GraderTask:
    """Write a task into a folder of this name in a place, and build its image.

    Raises:
        docker.errors.DockerException: the image cannot be built.
    """
    folder = place / name
    folder.mkdir()
    task.write(folder)
    image = _built(
        f"{_IMAGE}:{name}",
        _TASK.format(base=_base(place), base_git=BASE_GIT),
        place,
        folder / "repo",
    )
    return GraderTask(
        name=name,
        folder=folder,
        image=image,
        tests_patch=(folder / "tests.patch").read_text(),
        solution_patch=(folder / "solution.patch").read_text(),
        fail_to_pass=task.fail_to_pass,
        pass_to_pass=_passing(image),
    )


def _base(place: Path) -> str:
    tag = f"{_IMAGE}:base"
    try:
        docker.from_env().images.get(tag)
    except ImageNotFound:
        _built(tag, _DOCKERFILE, place, None)
    return tag


def _built(tag: str, dockerfile: str, place: Path, repo: Path | None) -> str:
    context = place / f"image-{tag.rpartition(':')[2]}"
    context.mkdir()
    (context / "Dockerfile").write_text(dockerfile)
    if repo is not None:
        with open_tar(context / "repo.tar", "w") as archive:
            archive.add(repo, ".")
    docker.from_env().images.build(path=str(context), tag=tag, rm=True, network_mode="host")
    return tag


def _passing(image: str) -> tuple[str, ...]:
    """The visible tests that pass before the fix."""
    said = docker.from_env().containers.run(
        image,
        ["sh", "-c", "python -m pytest -q -rA tests; true"],
        network_mode="none",
        remove=True,
    )
    lines = said.decode().splitlines()
    return tuple(line.split(" ", 1)[1] for line in lines if line.startswith("PASSED "))
