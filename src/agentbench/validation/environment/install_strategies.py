"""The ways to install a project and what its tests need, the most specific first."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType

from packaging.metadata import parse_email
from packaging.utils import canonicalize_name

from agentbench.tasks.project.declaration import (
    ProjectDeclaration,
    RequirementGroup,
    RequirementPurpose,
    distribution_of,
    named_requirements,
    read_project_file,
)
from agentbench.tasks.project.pyproject import parse_toml, read_pyproject
from agentbench.tasks.project.setup_files import parse_ini, read_setup_cfg, read_setup_py
from agentbench.validation.environment.found_tests import FoundTests
from agentbench.validation.environment.project_settings import PytestSettings
from agentbench.validation.environment.requirement_files import (
    nox_bundles,
    requirement_bundles,
    tox_bundles,
)

_SAME_NAME = """
    aiohttp anyio arrow async_timeout attrs certifi click colorama coverage cryptography ddt
    django docutils fastapi flaky flask freezegun httpx hypothesis importlib_metadata
    importlib_resources iniconfig jinja2 jsonschema lxml markupsafe marshmallow mock
    more_itertools msgpack multidict mypy nose numpy packaging pandas parameterized path pexpect
    pretend psutil pydantic pyfakefs pygments pyperclip pytest_asyncio pytest_mock pytz regex
    requests requests_mock responses rich schema setuptools simplejson six sortedcontainers
    sqlalchemy starlette sybil tabulate testfixtures time_machine toml tomli tomli_w tomlkit
    tornado tqdm trio twisted typeguard typing_extensions tzdata tzlocal ujson urllib3
    virtualenv wcwidth webtest werkzeug yarl
"""
"""Modules that are called as their distribution, with underscores for its hyphens."""

DISTRIBUTION_OF_MODULE: Mapping[str, str] = MappingProxyType(
    {name: name.replace("_", "-") for name in _SAME_NAME.split()}
    | {
        "OpenSSL": "pyopenssl",
        "PIL": "pillow",
        "attr": "attrs",
        "bs4": "beautifulsoup4",
        "dateutil": "python-dateutil",
        "dotenv": "python-dotenv",
        "pkg_resources": "setuptools<81",
        "ruamel": "ruamel.yaml",
        "yaml": "pyyaml",
        "zope": "zope.interface",
    }
)
"""Distributions by the name of the module that they provide."""

PLUGINS_BY_FIXTURE = {
    "aiohttp_client": "pytest-aiohttp",
    "benchmark": "pytest-benchmark",
    "data_regression": "pytest-regressions",
    "datadir": "pytest-datadir",
    "event_loop": "pytest-asyncio",
    "faker": "faker",
    "file_regression": "pytest-regressions",
    "freezer": "pytest-freezer",
    "fs": "pyfakefs",
    "httpbin": "pytest-httpbin",
    "httpserver": "pytest-httpserver",
    "httpx_mock": "pytest-httpx",
    "image_regression": "pytest-regressions",
    "mocker": "pytest-mock",
    "requests_mock": "requests-mock",
    "snapshot": "syrupy",
    "subtests": "pytest-subtests",
    "time_machine": "time-machine",
}
PLUGINS_BY_MARK = {
    "anyio": "anyio",
    "asyncio": "pytest-asyncio",
    "benchmark": "pytest-benchmark",
    "dependency": "pytest-dependency",
    "django_db": "pytest-django",
    "flaky": "flaky",
    "forked": "pytest-forked",
    "freeze_time": "pytest-freezer",
    "order": "pytest-order",
    "repeat": "pytest-repeat",
    "timeout": "pytest-timeout",
    "trio": "pytest-trio",
    "twisted": "pytest-twisted",
}
PLUGINS_BY_SETTING = {
    "anyio_mode": "anyio",
    "asyncio_default_fixture_loop_scope": "pytest-asyncio",
    "asyncio_mode": "pytest-asyncio",
    "django_find_project": "pytest-django",
    "env": "pytest-env",
    "timeout": "pytest-timeout",
    "timeout_method": "pytest-timeout",
    "trio_mode": "pytest-trio",
}
"""Distributions by what a project's tests use of them without an import."""


_PIP = "python -m pip install"
DATED_PIP = "26.0"
"""The first pip that can ignore files uploaded after a given day."""

_VERSION_VARIABLES = {
    "setuptools[-_]scm|hatch-vcs|use_scm_version": "SETUPTOOLS_SCM_PRETEND_VERSION",
    r"\bpbr\b": "PBR_VERSION",
    "pdm-backend|pdm-pep517": "PDM_BUILD_SCM_VERSION",
    "poetry-dynamic-versioning": "POETRY_DYNAMIC_VERSIONING_BYPASS",
    "uv-dynamic-versioning": "UV_DYNAMIC_VERSIONING_BYPASS",
}
_DESCRIPTIONS = ("pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallStrategy:
    """What is installed, and the places that say that it is needed."""

    project: bool
    extras: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def setup_commands(what: InstallStrategy, *, on: date | None = None) -> tuple[str, ...]:
    """The installation commands for a sandbox with pip and the newest pytest.

    With `on`, only files uploaded by that day are installed, pytest among them.
    """
    extras = ",".join(dict.fromkeys(what.extras))
    project = ("-e", f".[{extras}]" if extras else ".") if what.project else ()
    files = (part for name in what.files for part in ("-r", name))
    words = shlex.join([*project, *files, *dict.fromkeys(what.requirements)])
    if on is None:
        return (f"{_PIP} {words}",) if words else ()
    until = f"--uploaded-prior-to={on + timedelta(days=1)}T00:00:00Z"
    return (
        f"{_PIP} --upgrade 'pip>={DATED_PIP}'",
        f"{_PIP} --force-reinstall {until} pytest",
        *((f"{_PIP} {until} {words}",) if words else ()),
    )


def version_variables(tree: Path) -> dict[str, str]:
    """The variables that give a build its version, which it would otherwise ask git for.

    Empty for a tree without a release's metadata: there, set-up passes on what git says.
    """
    metadata = read_project_file(tree, "PKG-INFO")
    if metadata is None:
        return {}
    version = parse_email(metadata)[0].get("version", "")
    if not re.fullmatch(r"[0-9A-Za-z.+!-]+", version):
        return {}
    described = "\n".join(read_project_file(tree, name) or "" for name in _DESCRIPTIONS)
    return {
        variable: version
        for pattern, variable in _VERSION_VARIABLES.items()
        if re.search(pattern, described)
    }


_BROUGHT_BY_PYTEST = frozenset({"pytest", "_pytest", "pluggy", "py"})  # modules that pytest brings
_MAX_BUNDLES = 3
_NO_BUNDLE = RequirementGroup(where="", purpose=RequirementPurpose.TESTS)


def read_declaration(tree: Path) -> ProjectDeclaration:
    """What all files of a project together declare about installing it and its tests."""
    declared = read_pyproject(parse_toml(read_project_file(tree, "pyproject.toml")))
    declared = declared.merged_with(read_setup_cfg(parse_ini(read_project_file(tree, "setup.cfg"))))
    declared = declared.merged_with(read_setup_py(read_project_file(tree, "setup.py")))
    elsewhere = (
        *requirement_bundles(tree),
        *tox_bundles(parse_ini(read_project_file(tree, "tox.ini")), tree),
        *nox_bundles(read_project_file(tree, "noxfile.py"), tree),
    )
    return declared.merged_with(ProjectDeclaration(bundles=elsewhere))


def install_strategies(
    tree: Path, declared: ProjectDeclaration, settings: PytestSettings, found: FoundTests
) -> tuple[InstallStrategy, ...]:
    """What to install: with each of the project's requirement groups, and finally with none."""
    bundles = sorted(declared.bundles, key=lambda bundle: bundle.purpose)[:_MAX_BUNDLES]
    ways: list[InstallStrategy] = []
    for bundle in (*bundles, _NO_BUNDLE):
        known, guessed = _missing_distributions(declared, bundle, settings, found)
        ways.append(_strategy(tree, declared, bundle, known))
        if guessed:
            ways.append(_strategy(tree, declared, bundle, {**known, **guessed}))
    return tuple(dict.fromkeys(ways))


def _strategy(
    tree: Path, declared: ProjectDeclaration, bundle: RequirementGroup, lacking: dict[str, str]
) -> InstallStrategy:
    files = bundle.files
    reasons = [bundle.where] if bundle.where else []
    if not declared.installable and read_project_file(tree, "requirements.txt") is not None:
        files = tuple(dict.fromkeys(("requirements.txt", *files)))
        reasons.insert(0, "requirements.txt, since nothing says how the project is installed")
    return InstallStrategy(
        project=declared.installable,
        extras=bundle.extras,
        files=files,
        requirements=(*bundle.requirements, *lacking),
        reasons=(*reasons, *(f"`{name}`: {why}" for name, why in lacking.items())),
    )


def _missing_distributions(
    declared: ProjectDeclaration,
    bundle: RequirementGroup,
    settings: PytestSettings,
    found: FoundTests,
) -> tuple[dict[str, str], dict[str, str]]:
    """Missing distributions that the tests use: known ones, then guesses by name."""
    brought = {
        distribution_of(text)
        for text in (*declared.requirements, *bundle.requirements, *bundle.known_requirements)
    }
    known: dict[str, str] = {}
    guessed: dict[str, str] = {}
    for name, why in _used_distributions(settings, found):
        if distribution_of(name) not in brought:
            known.setdefault(name, why)
    for module in sorted(found.imports - _BROUGHT_BY_PYTEST - DISTRIBUTION_OF_MODULE.keys()):
        if canonicalize_name(module) not in brought:
            guessed[module] = "a guess by the name of a module that its tests import"
    return known, guessed


def _used_distributions(settings: PytestSettings, found: FoundTests) -> Iterator[tuple[str, str]]:
    for module in sorted(found.imports & DISTRIBUTION_OF_MODULE.keys()):
        yield DISTRIBUTION_OF_MODULE[module], f"its tests import `{module}`"
    for fixture in sorted((found.arguments - found.fixtures) & PLUGINS_BY_FIXTURE.keys()):
        yield PLUGINS_BY_FIXTURE[fixture], f"its tests use the fixture `{fixture}`"
    for mark in sorted(found.marks & PLUGINS_BY_MARK.keys()):
        yield PLUGINS_BY_MARK[mark], f"its tests bear the mark `{mark}`"
    for setting in sorted(settings.names & PLUGINS_BY_SETTING.keys()):
        yield PLUGINS_BY_SETTING[setting], f"{settings.where} sets `{setting}`"
    for plugin in named_requirements(settings.plugins):
        yield plugin, f"{settings.where} requires it"
