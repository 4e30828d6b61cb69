from agentbench.tasks.project_declaration import (
    ProjectDeclaration,
    RequirementGroup,
    RequirementPurpose,
)
from agentbench.validation.environment.found_tests import FoundTests
from agentbench.validation.environment.install_strategies import (
    install_strategies,
    read_declarations,
)
from agentbench.validation.environment.project_settings import PytestSettings
from tests.validation.environment.trees import write_tree

NO_SETTINGS, NO_TESTS = PytestSettings(), FoundTests()


def test_all_files_of_a_project_are_read(tmp_path):
    tree = write_tree(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ntest = ["a"]',
            "setup.cfg": "[options]\ntests_require = b",
            "setup.py": "setup(tests_require=['c'])",
            "test-requirements.txt": "d",
            "tox.ini": "[testenv]\ndeps = e",
            "noxfile.py": "def tests(session):\n    session.install('f')",
        },
    )
    held = [
        bundle.requirements or bundle.known_requirements
        for bundle in read_declarations(tree).bundles
    ]
    assert held == [("a",), ("b",), ("c",), ("d",), ("e",), ("f",)]


def test_what_is_for_tests_comes_before_what_is_for_developers_and_nothing_last(tmp_path):
    declared = ProjectDeclaration(
        installable=True,
        bundles=(
            RequirementGroup(where="dev", purpose=RequirementPurpose.DEVELOPMENT, extras=("dev",)),
            RequirementGroup(where="test", purpose=RequirementPurpose.TESTS, extras=("test",)),
        ),
    )
    ways = install_strategies(tmp_path, declared, NO_SETTINGS, NO_TESTS)
    assert [way.extras for way in ways] == [("test",), ("dev",), ()]
    assert all(way.project for way in ways)


def test_what_tests_use_and_nothing_brings_is_installed_with_its_reason(tmp_path):
    found = FoundTests(
        imports=frozenset({"yaml", "attr", "pytest"}),
        arguments=frozenset({"mocker", "own", "tmp_path"}),
        fixtures=frozenset({"own"}),
        marks=frozenset({"asyncio", "parametrize"}),
    )
    settings = PytestSettings(
        where="pytest.ini", names=frozenset({"timeout"}), plugins=("pytest-xyz",)
    )
    declared = ProjectDeclaration(requirements=("attrs",))
    (way,) = install_strategies(tmp_path, declared, settings, found)
    assert way.requirements == (
        "pyyaml",
        "pytest-mock",
        "pytest-asyncio",
        "pytest-timeout",
        "pytest-xyz",
    )
    assert "`pyyaml`: its tests import `yaml`" in way.reasons
    assert "`pytest-timeout`: pytest.ini sets `timeout`" in way.reasons


def test_a_module_that_nobody_knows_is_guessed_in_a_way_of_its_own(tmp_path):
    found = FoundTests(imports=frozenset({"rarely_seen"}))
    known, guessed = install_strategies(tmp_path, ProjectDeclaration(), NO_SETTINGS, found)
    assert known.requirements == ()
    assert guessed.requirements == ("rarely_seen",)
    assert "guess" in guessed.reasons[0]


def test_requirements_stand_in_for_a_project_that_cannot_be_installed(tmp_path):
    tree = write_tree(tmp_path, {"requirements.txt": "six"})
    (way,) = install_strategies(tree, ProjectDeclaration(), NO_SETTINGS, NO_TESTS)
    assert (way.project, way.files) == (False, ("requirements.txt",))
