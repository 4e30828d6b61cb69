"""The version that a project's history gives a commit, as setuptools-scm works it out."""

import re
import warnings
from pathlib import Path
from threading import Lock

from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror

# What setuptools-scm itself asks git; `--dirty` has no meaning in a mirror.
_DESCRIBE = ("describe", "--tags", "--long", "--abbrev=40", "--match", "*[0-9]*")
_DESCRIBED = re.compile(r"(?P<tag>.+)-(?P<distance>\d+)-(?P<node>g[0-9a-f]+)", re.DOTALL)
_AS_IT_IS = {"version_scheme": "only-version", "local_scheme": "no-local-version"}
_one_at_a_time = Lock()  # filters of warnings belong to the whole process


def scm_version(mirror: Mirror) -> str | None:
    """The version of a mirror's commit; None if there is no tag before it, or that is no version.

    Without a tag setuptools-scm calls any repository 0.1.dev, also the one in a sandbox. A tag that
    names no version is tried without its path (`shop/v3`). A version that cannot be
    counted up (`1.2.dev5`) is taken as it is.
    """
    answer = git(
        *_DESCRIBE, mirror.commit, cwd=mirror.path, env={"GIT_DIR": str(mirror.path)}
    )
    described = _DESCRIBED.fullmatch(answer.stdout.decode("utf-8", "replace").strip())
    if described is None:
        return None
    tag, distance, node = described["tag"], int(described["distance"]), described["node"]
    return _version(tag, distance, node) or _version(tag.rpartition("/")[2], distance, node)


def _version(tag: str, distance: int, node: str) -> str | None:
    return _formatted(tag, distance, node, {}) or _formatted(tag, distance, node, _AS_IT_IS)


def _formatted(tag: str, distance: int, node: str, schemes: dict[str, str]) -> str | None:
    from setuptools_scm.version import meta  # takes a quarter of a second
    from vcs_versioning import VcsEnvironment

    # Neither this machine's environment nor a pyproject.toml in the working folder has a say.
    config = VcsEnvironment.from_env(env={}).build_config_from_data(
        relative_to=Path("/pyproject.toml"), data={**schemes}
    )
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return meta(tag, distance=distance, node=node, config=config).format()
        except ValueError:
            return None
