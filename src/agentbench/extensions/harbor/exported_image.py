"""Writes the files for Harbor's images: Dockerfiles, compose files and a repository."""

import json
import shlex
import shutil
from pathlib import Path

from agentbench.extensions.harbor.exported_table import NotExpressibleError, account_of, workdir_of
from agentbench.extensions.harbor.services import COMPOSE_FILE
from agentbench.tasks.compose_file import MAIN, main_table
from agentbench.tasks.task import Task
from agentbench.tasks.users import AGENT_USER, ROOT_USER, UserName

REPOSITORY_FOLDER = "agentbench-repo"
"""The folder in environment/ with the repository."""

DOCKERFILE = "Dockerfile"
"""The name that Harbor reads."""

_COMMIT = (
    "git init --quiet && git add --all --force && git -c user.name=agentbench "
    "-c user.email=agentbench@localhost commit --quiet --allow-empty "
    "--message 'The repository of the task'"
)
_TOOLS = (
    "command -v git > /dev/null || { apt-get update && apt-get install --yes "
    "--no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*; }"
)
_PYTEST = "python -m pytest --version || python -m pip install pytest"
# It shows the fix; runs leave it out, too.
_WITHOUT_HISTORY = shutil.ignore_patterns(".git")
_ACCOUNT = (
    "grep -q '^[^:]*:[^:]*:{id}:' /etc/passwd || useradd --uid {id} --create-home agentbench "
    "|| adduser -D -u {id} agentbench"
)


def dockerfile(task: Task, base: str, *, bundle: str | None = None) -> str:
    """The Dockerfile; it copies the repository or a git bundle, or clones it.

    Args:
        task: The task.
        base: The task's own Dockerfile, or a FROM line.
        bundle: The name of a git bundle next to it.
    """
    place, key = workdir_of(task), task.answer_key
    lines = [base.rstrip("\n"), "USER root"]
    if task.source.workdir is None or (key.solution is None and key.solution_patch):
        lines.append(f"RUN {_TOOLS}")
    lines.append(f"WORKDIR {place}")
    if task.source.files is not None:
        lines += [f"COPY {REPOSITORY_FOLDER}/ {place}/", _run(_COMMIT)]
    elif task.source.workdir is None:
        url = task.source.url if bundle is None else f"/tmp/{bundle}"
        clone = f"git clone --quiet {shlex.quote(url or '')} . && git checkout --quiet "
        lines += [] if bundle is None else [f"COPY {bundle} {url}"]
        # The bundle has the whole history, which an agent could read.
        removed = "rm -rf .git" if bundle is None else f"rm -rf .git {shlex.quote(url or '')}"
        lines += [_run(f"{clone}{task.source.commit} && {removed}"), _run(_COMMIT)]
    for name, value in task.environment.env.items():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
        quoted = escaped.replace("\n", "\\\n")
        lines.append(f'ENV {name}="{quoted}"')
    lines += [_run(command) for command in task.setup.all_commands]
    if key.verifier is None:
        lines.append(_run(_PYTEST))
    return "\n".join([*lines, *_user_lines(task.environment.user, str(place)), ""])


def write_environment(task: Task, folder: Path, image: str) -> None:
    """Write the build context of the image, with the repository if it is plain files.

    Raises:
        NotExpressibleError: the files have no place there.
        InputError: the compose file cannot be read.
    """
    environment, source = task.environment, task.source
    own = [path for path in (environment.dockerfile, environment.compose) if path is not None]
    base = base_of(environment.compose, environment.dockerfile, environment.image, image)
    if not own:
        folder.mkdir()
    elif len({path.parent for path in own}) > 1:
        message = "[environment] compose: is not next to the dockerfile; Harbor has only one folder"
        raise NotExpressibleError(message)
    elif own[0].parent.resolve() == task.folder.resolve():
        message = f"{own[0].name}: is next to task.toml, with the answers; move it to a subfolder"
        raise NotExpressibleError(message)
    else:
        shutil.copytree(own[0].parent, folder, symlinks=True, ignore=_WITHOUT_HISTORY)
    write_compose(environment.compose, folder, "[environment] compose")
    bundle = Path(source.url).name if source.url and source.url.endswith(".bundle") else None
    if source.files is not None:
        target = folder / REPOSITORY_FOLDER
        shutil.copytree(source.files, target, symlinks=True, ignore=_WITHOUT_HISTORY)
    elif bundle is not None:
        shutil.copyfile(str(source.url), folder / bundle)
    (folder / DOCKERFILE).write_text(dockerfile(task, base, bundle=bundle), "utf-8")


def write_verifier_image(task: Task, folder: Path, image: str) -> None:
    """Write the files of a verifier's own image into the folder of its tests.

    Raises:
        NotExpressibleError: the files have no place there, or Harbor would build another image.
        InputError: the compose file cannot be read.
    """
    verifier = task.answer_key.verifier
    if verifier is None or verifier.is_shared:
        return
    if not verifier.has_image:
        if (folder / DOCKERFILE).exists() or (folder / COMPOSE_FILE).exists():
            raise NotExpressibleError(
                "tests/: has a Dockerfile or compose file, from which Harbor would build the "
                "image of the verifier; rename it"
            )
        return
    files = {key: getattr(verifier, key) for key in ("dockerfile", "compose")}
    own = {key: task.folder / name for key, name in files.items() if name is not None}
    for key, path in own.items():
        if path.parent not in task.script_folders:
            what = f"is not in tests/, where Harbor has it, but {files[key]}"
            raise NotExpressibleError(f"[verifier] {key}: {what}")
    compose = own.get("compose")
    base = base_of(compose, own.get("dockerfile"), verifier.image, image)
    write_compose(compose, folder, "[verifier] compose")
    place = str(workdir_of(task))
    user = verifier.user or task.environment.user
    lines = [base.rstrip("\n"), "USER root", f"WORKDIR {place}", "COPY . /tests/"]
    text = "\n".join([*lines, *_user_lines(user, place), ""])
    (folder / DOCKERFILE).write_text(text, "utf-8")


def base_of(compose: Path | None, own: Path | None, image: str | None, usual: str) -> str:
    """The text that a Dockerfile starts with.

    Args:
        compose: The compose file in the same folder.
        own: The task's own Dockerfile.
        image: The image that it names.
        usual: The image if it names none.

    Raises:
        NotExpressibleError: the compose file gives the container an image that Harbor builds
            otherwise.
        InputError: the compose file cannot be read.
    """
    main = main_table(compose) if compose is not None else {}
    for key in {"image", "extends"} & main.keys():
        what = "Harbor builds it from its Dockerfile; give [environment] image or dockerfile"
        raise NotExpressibleError(f"services.{MAIN}.{key}: {what}")
    if compose is not None and "build" in main:
        build = main["build"]
        table = build if isinstance(build, dict) else {"context": build}
        context = str(table.get("context", ".")).rstrip("/")
        if context != "." or table.get("dockerfile", DOCKERFILE) != DOCKERFILE:
            what = "Harbor needs `context: .` and the name Dockerfile"
            raise NotExpressibleError(f"services.{MAIN}.build: {what}")
        if own is None and image is None:
            own = compose.parent / DOCKERFILE
    return own.read_text("utf-8") if own is not None else f"FROM {image or usual}"


def write_compose(compose: Path | None, folder: Path, key: str) -> None:
    """Write a compose file under Harbor's name into a folder that has its other files.

    Raises:
        NotExpressibleError: another file has that name.
    """
    target = folder / COMPOSE_FILE
    if compose is None or compose.name != COMPOSE_FILE:
        if target.exists():
            raise NotExpressibleError(f"{key}: is not {COMPOSE_FILE}, which Harbor would use")
        if compose is not None:
            shutil.copyfile(compose, target)


def _user_lines(user: UserName, place: str) -> list[str]:
    """The lines that give the folder to the agents' user, and run commands as this user."""
    if user == ROOT_USER:
        return []
    number = account_of(user)
    if user != AGENT_USER:
        return [f"USER {number}"]
    owned = f"chown -Rh {number}:{number} {shlex.quote(place)}"
    return [_run(_ACCOUNT.format(id=number)), _run(owned), f"USER {number}"]


def _run(command: str) -> str:
    return f"RUN {json.dumps(['/bin/sh', '-c', command])}"
