import pytest

from agentbench.importers.release.release_task import why_compiler_needed
from tests.validation.environment.trees import write_tree


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"pyproject.toml": '[build-system]\nrequires = ["setuptools", "Cython>=3"]'}, "cython"),
        ({"pyproject.toml": '[build-system]\nbuild-backend = "maturin"'}, "maturin"),
        ({"setup.py": "setup(ext_modules=[Extension('x', ['x.c'])])"}, "ext_modules"),
    ],
)
def test_a_project_that_a_compiler_has_to_make_is_told(tmp_path, files, said):
    why = why_compiler_needed(write_tree(tmp_path, files))
    assert why is not None
    assert why.startswith("it has a binary extension")
    assert said in why


@pytest.mark.parametrize(
    "files",
    [{}, {"setup.py": "setup()"}, {"pyproject.toml": '[build-system]\nrequires = ["./x", "flit"]'}],
)
def test_python_alone_needs_none(tmp_path, files):
    assert why_compiler_needed(write_tree(tmp_path, files)) is None
