"""The strategies to install a project and its tests' requirements, the most specific first."""

import ast
import re
import shlex
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path, PurePosixPath

from packaging.metadata import parse_email
from packaging.utils import canonicalize_name

from agentbench.tasks.project_declaration import (
    ProjectDeclaration,
    RequirementGroup,
    RequirementPurpose,
    distribution_of,
    ini_lines,
    named_requirements,
    purpose_of,
    read_project_file,
)
from agentbench.tasks.project_files import option_lines, parse_ini, parse_python, read_declaration
from agentbench.tasks.project_versions import tree_reader
from agentbench.validation.environment.found_tests import FoundTests
from agentbench.validation.environment.project_settings import PytestSettings

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

DISTRIBUTION_OF_MODULE = {name: name.replace("_", "-") for name in _SAME_NAME.split()} | {
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
"""Distributions by the fixtures, marks or settings that tests use without an import."""


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
_BROUGHT_BY_PYTEST = frozenset({"pytest", "_pytest", "pluggy", "py"})  # modules that pytest brings
_MAX_BUNDLES = 3
_NO_BUNDLE = RequirementGroup(where="", purpose=RequirementPurpose.TESTS)
_PATTERNS = (
    "*requirements*.txt",
    "requirements/*.txt",
    "test/*requirements*.txt",
    "tests/*requirements*.txt",
    "ci/*requirements*.txt",
    "test-deps*.txt",
)
_INCLUDED = re.compile(r"(?:-r|--requirement)[ =]?(.+)")
_MAX_DEPTH = 5
_REQUIREMENT_FILE = re.compile(r"-r\s*(?:\{(?:toxinidir|tox_root)\}/|\./)?([^\s{}]+)$")
_CONDITION = re.compile(r"^[\w!{},.-]+:\s")
_OWN_EXTRAS = re.compile(r"\.\[([\w,\s.-]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallStrategy:
    """The requirements to install, and the places that declare them."""

    project: bool
    extras: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def setup_commands(what: InstallStrategy, *, on: date | None = None) -> tuple[str, ...]:
    """The installation commands; with `on`, only files uploaded by that day are installed.

    Args:
        what: The requirements to install.
        on: Only files uploaded by this day are installed, pytest among them.
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

    Empty for a tree without a release's metadata: there, set-up passes on the version from git.
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


def read_declarations(tree: Path) -> ProjectDeclaration:
    """The combined declarations of all files of a project about installing it and its tests."""
    read = tree_reader(tree)
    declared = read_declaration(read)
    elsewhere = (
        *requirement_bundles(tree),
        *tox_bundles(parse_ini(read("tox.ini")), tree),
        *nox_bundles(read("noxfile.py"), tree),
    )
    return declared.merged_with(ProjectDeclaration(bundles=elsewhere))


def install_strategies(
    tree: Path, declared: ProjectDeclaration, settings: PytestSettings, found: FoundTests
) -> tuple[InstallStrategy, ...]:
    """The strategies with each of the project's requirement groups, and finally with none."""
    bundles = sorted(declared.bundles, key=lambda bundle: bundle.purpose)[:_MAX_BUNDLES]
    strategies: list[InstallStrategy] = []
    for bundle in (*bundles, _NO_BUNDLE):
        known, guessed = _missing_distributions(declared, bundle, settings, found)
        strategies.append(_strategy(tree, declared, bundle, known))
        if guessed:
            strategies.append(_strategy(tree, declared, bundle, {**known, **guessed}))
    return tuple(dict.fromkeys(strategies))


def _strategy(
    tree: Path, declared: ProjectDeclaration, bundle: RequirementGroup, lacking: dict[str, str]
) -> InstallStrategy:
    files = bundle.files
    reasons = [bundle.where] if bundle.where else []
    if not declared.installable and read_project_file(tree, "requirements.txt") is not None:
        files = tuple(dict.fromkeys(("requirements.txt", *files)))
        reasons.insert(0, "requirements.txt, since no file declares how the project is installed")
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
        yield PLUGINS_BY_MARK[mark], f"its tests have the mark `{mark}`"
    for setting in sorted(settings.names & PLUGINS_BY_SETTING.keys()):
        yield PLUGINS_BY_SETTING[setting], f"{settings.where} sets `{setting}`"
    for plugin in named_requirements(settings.plugins):
        yield plugin, f"{settings.where} requires it"


def requirement_bundles(tree: Path) -> Iterator[RequirementGroup]:
    """The requirement files of a tree with "test" or "dev" in their name or their folder's."""
    found = dict.fromkeys(path for pattern in _PATTERNS for path in sorted(tree.glob(pattern)))
    for path in found:
        name = path.relative_to(tree).as_posix()
        purpose = _purpose(PurePosixPath(name))
        if purpose is not None and read_project_file(tree, name) is not None:
            requirements = tuple(requirements_in(tree, name))
            yield RequirementGroup(
                where=name, purpose=purpose, files=(name,), known_requirements=requirements
            )


def requirements_in(tree: Path, name: str, depth: int = 0) -> Iterator[str]:
    """The named requirements in a requirement file and in the files that it includes."""
    for line in ini_lines(read_project_file(tree, name) or ""):
        included = _INCLUDED.match(line)
        if included is None:
            yield from named_requirements([line.partition(" --hash")[0]])
        elif depth < _MAX_DEPTH:
            beside = PurePosixPath(name).parent / included.group(1).strip()
            yield from requirements_in(tree, beside.as_posix(), depth + 1)


def _purpose(path: PurePosixPath) -> RequirementPurpose | None:
    words = re.split(r"[-_./ ]+", path.with_suffix("").as_posix().lower())
    return min(filter(None, map(purpose_of, words)), default=None)


def tox_bundles(parser: ConfigParser, tree: Path) -> Iterator[RequirementGroup]:
    """The requirements in `[testenv]`, without lines for single environments."""
    deps = [line for line in option_lines(parser, "testenv", "deps") if not _CONDITION.match(line)]
    lines = option_lines(parser, "testenv", "extras")
    extras = [name.strip() for line in lines for name in line.split(",")]
    yield from _bundle("[testenv] of tox.ini", deps, extras, tree)


def tox_environment(parser: ConfigParser) -> dict[str, str]:
    """The variables that `[testenv]` sets to literal values."""
    pairs = (line.partition("=") for line in option_lines(parser, "testenv", "setenv"))
    return {
        name.strip(): value.strip()
        for name, _, value in pairs
        if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", name) and not re.search(r"[{}$%]", value)
    }


def nox_bundles(text: str | None, tree: Path) -> Iterator[RequirementGroup]:
    """The requirements in the test sessions of a `noxfile.py`, which is never run."""
    for node in ast.walk(parse_python(text)):
        if isinstance(node, ast.FunctionDef) and "test" in node.name:
            lines = list(_as_lines(_install_calls(node)))
            extras = [
                name.strip()
                for line in lines
                if (own := _OWN_EXTRAS.fullmatch(line))
                for name in own.group(1).split(",")
            ]
            yield from _bundle(f"session `{node.name}` of noxfile.py", lines, extras, tree)


def _bundle(
    where: str, lines: Iterable[str], extras: Iterable[str], tree: Path
) -> Iterator[RequirementGroup]:
    lines, own = list(lines), tuple(filter(None, extras))
    named = (match.group(1) for line in lines if (match := _REQUIREMENT_FILE.match(line)))
    files = tuple(
        name for name in named if _is_inside(name) and read_project_file(tree, name) is not None
    )
    known = tuple(each for name in files for each in requirements_in(tree, name))
    listed = named_requirements(lines)
    if own or files or listed:
        yield RequirementGroup(
            where=where,
            purpose=RequirementPurpose.TESTS,
            extras=own,
            files=files,
            requirements=listed,
            known_requirements=known,
        )


def _install_calls(function: ast.FunctionDef) -> Iterator[list[str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "install":
            constants = (each for each in node.args if isinstance(each, ast.Constant))
            yield [each.value for each in constants if isinstance(each.value, str)]


def _as_lines(calls: Iterable[list[str]]) -> Iterator[str]:
    """Arguments in the form of a requirement file, with `-r` and its file together."""
    for arguments in calls:
        words = iter(arguments)
        for word in words:
            yield f"-r {next(words, '')}" if word in {"-r", "--requirement"} else word


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts
