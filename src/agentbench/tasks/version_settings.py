"""The version of a commit, as variables that projects read instead of their history."""

from agentbench.tasks.mirror import Mirror


def version_settings(mirror: Mirror | None) -> dict[str, str]:
    """The version of the commit, for projects that would read it from the removed history.

    The variables are those of setuptools-scm, which hatch-vcs also reads, and of pbr, which
    supports neither epochs nor local versions.
    """
    # Imported here, since this imports several parsers.
    from packaging.version import Version

    from agentbench.tasks.project_versions import scm_version

    text = scm_version(mirror) if mirror is not None else None
    if text is None:
        return {}
    version = Version(text)
    pbr = {} if version.epoch else {"PBR_VERSION": version.public}
    return {"SETUPTOOLS_SCM_PRETEND_VERSION": text, **pbr}
