"""The ways to install what a project's tests need, from the most specific to the least."""

from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from agentbench.curation.detection.import_names import (
    BROUGHT_BY,
    PLUGINS_BY_FIXTURE,
    PLUGINS_BY_MARK,
    PLUGINS_BY_SETTING,
)
from agentbench.curation.detection.installing import Installation
from agentbench.curation.detection.pytest_settings import PytestSettings
from agentbench.curation.detection.requirement_files import requirement_bundles
from agentbench.curation.detection.test_files import FoundTests
from agentbench.curation.detection.tox import nox_bundles, tox_bundles
from agentbench.tasks.project.declaration import (
    Bundle,
    Declaration,
    Purpose,
    distribution_of,
    usable,
)
from agentbench.tasks.project.pyproject import parse_toml, read_pyproject
from agentbench.tasks.project.setup_cfg import parse_ini, read_setup_cfg
from agentbench.tasks.project.setup_py import read_setup_py
from agentbench.tasks.project.tree_text import text_of

_ALREADY_THERE = frozenset({"pytest", "_pytest", "pluggy", "py"})  # modules that pytest brings
_MOST_BUNDLES = 3
_NOTHING = Bundle(where="", purpose=Purpose.TESTS)


def read_declaration(tree: Path) -> Declaration:
    """What all files of a project together say of installing it and its tests."""
    declared = read_pyproject(parse_toml(text_of(tree, "pyproject.toml")))
    declared = declared.with_(read_setup_cfg(parse_ini(text_of(tree, "setup.cfg"))))
    declared = declared.with_(read_setup_py(text_of(tree, "setup.py")))
    elsewhere = (
        *requirement_bundles(tree),
        *tox_bundles(parse_ini(text_of(tree, "tox.ini")), tree),
        *nox_bundles(text_of(tree, "noxfile.py"), tree),
    )
    return declared.with_(Declaration(bundles=elsewhere))


def ways_to_install(
    tree: Path, declared: Declaration, settings: PytestSettings, found: FoundTests
) -> tuple[Installation, ...]:
    """What to install: with each of the project's bundles, and at last with none of them."""
    bundles = sorted(declared.bundles, key=lambda bundle: bundle.purpose)[:_MOST_BUNDLES]
    ways: list[Installation] = []
    for bundle in (*bundles, _NOTHING):
        known, guessed = _lacking(declared, bundle, settings, found)
        ways.append(_way(tree, declared, bundle, known))
        if guessed:
            ways.append(_way(tree, declared, bundle, {**known, **guessed}))
    return tuple(dict.fromkeys(ways))


def _way(
    tree: Path, declared: Declaration, bundle: Bundle, lacking: dict[str, str]
) -> Installation:
    files = bundle.files
    reasons = [bundle.where] if bundle.where else []
    if not declared.installable and text_of(tree, "requirements.txt") is not None:
        files = tuple(dict.fromkeys(("requirements.txt", *files)))
        reasons.insert(0, "requirements.txt, since nothing says how the project is installed")
    return Installation(
        project=declared.installable,
        extras=bundle.extras,
        files=files,
        requirements=(*bundle.requirements, *lacking),
        reasons=(*reasons, *(f"`{name}`: {why}" for name, why in lacking.items())),
    )


def _lacking(
    declared: Declaration, bundle: Bundle, settings: PytestSettings, found: FoundTests
) -> tuple[dict[str, str], dict[str, str]]:
    """What the tests use and nothing said so far brings: what is known, and what is a guess."""
    brought = {
        distribution_of(text)
        for text in (*declared.requirements, *bundle.requirements, *bundle.held)
    }
    known: dict[str, str] = {}
    guessed: dict[str, str] = {}
    for name, why in _used(settings, found):
        if distribution_of(name) not in brought:
            known.setdefault(name, why)
    for module in sorted(found.imports - _ALREADY_THERE - BROUGHT_BY.keys()):
        if canonicalize_name(module) not in brought:
            guessed[module] = "a guess by the name of a module that its tests import"
    return known, guessed


def _used(settings: PytestSettings, found: FoundTests) -> Iterator[tuple[str, str]]:
    for module in sorted(found.imports & BROUGHT_BY.keys()):
        yield BROUGHT_BY[module], f"its tests import `{module}`"
    for fixture in sorted((found.arguments - found.fixtures) & PLUGINS_BY_FIXTURE.keys()):
        yield PLUGINS_BY_FIXTURE[fixture], f"its tests use the fixture `{fixture}`"
    for mark in sorted(found.marks & PLUGINS_BY_MARK.keys()):
        yield PLUGINS_BY_MARK[mark], f"its tests bear the mark `{mark}`"
    for setting in sorted(settings.names & PLUGINS_BY_SETTING.keys()):
        yield PLUGINS_BY_SETTING[setting], f"{settings.where} sets `{setting}`"
    for plugin in usable(settings.plugins):
        yield plugin, f"{settings.where} requires it"
