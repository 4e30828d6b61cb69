from datetime import date

import pytest

from agentbench.tasks.project_declaration import ProjectDeclaration
from agentbench.validation.environment.project_settings import choose_python
from tests.validation.environment.trees import write_tree

NOTHING = ProjectDeclaration()


@pytest.mark.parametrize("text", ["3.9\n", "3.9.18", "cpython-3.9.1"])
def test_a_version_file_decides(tmp_path, text):
    tree = write_tree(tmp_path, {".python-version": text})
    found = choose_python(tree, ProjectDeclaration(pythons=("3.12",)), date(2025, 1, 1))
    assert found is not None
    assert (found.version, found.why) == ("3.9", ".python-version")


def test_the_newest_classifier_that_requires_python_admits_is_next(tmp_path):
    declared = ProjectDeclaration(pythons=("3.8", "3.10", "3.13"), requires_python=(">=3.7,<3.13",))
    found = choose_python(tmp_path, declared, None)
    assert found is not None
    assert found.version == "3.10"


@pytest.mark.parametrize(
    ("on", "version"),
    [(date(2021, 10, 3), "3.9"), (date(2021, 10, 4), "3.10"), (date(2026, 1, 1), "3.14")],
)
def test_else_the_newest_python_of_the_day(tmp_path, on, version):
    found = choose_python(tmp_path, NOTHING, on)
    assert found is not None
    assert found.version == version


def test_without_a_day_an_upper_bound_decides(tmp_path):
    found = choose_python(tmp_path, ProjectDeclaration(requires_python=("<3.10",)), None)
    assert found is not None
    assert found.version == "3.9"


@pytest.mark.parametrize("requires", [(), (">=3.8",), ("not a specifier",)])
def test_without_a_word_of_it_any_python_will_do(tmp_path, requires):
    assert choose_python(tmp_path, ProjectDeclaration(requires_python=requires), None) is None
