import pytest

from agentbench.errors import InputError
from agentbench.importers.swebench.recipes import find_recipe, read_recipes, shipped_recipes

OF_SWE_BENCH = (
    "astropy/astropy",
    "django/django",
    "matplotlib/matplotlib",
    "mwaskom/seaborn",
    "pallets/flask",
    "psf/requests",
    "pydata/xarray",
    "pylint-dev/pylint",
    "pytest-dev/pytest",
    "scikit-learn/scikit-learn",
    "sphinx-doc/sphinx",
    "sympy/sympy",
)


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "recipes.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("repo", OF_SWE_BENCH)
def test_each_project_of_swe_bench_has_a_recipe_for_any_version(repo):
    recipe = find_recipe([shipped_recipes()], repo, "no such version")
    assert recipe is not None
    assert recipe.python is not None or recipe.refuse


def test_the_shipped_recipes_say_where_their_facts_are_from():
    assert "swebench/harness/constants/python.py" in shipped_recipes().source


@pytest.mark.parametrize(
    ("version", "python"), [("2.0", "3.9"), ("2.1", "3.10"), ("2.3", "3.11"), ("", "3.11")]
)
def test_a_version_has_the_first_recipe_that_names_it_or_none(version, python):
    assert find_recipe([shipped_recipes()], "pallets/flask", version).python == python


def test_a_user_s_own_recipe_comes_first(write):
    own = read_recipes(write('[[recipe]]\nrepo = "Pallets/Flask"\nversions = ["2.0"]\n'))
    assert find_recipe([own, shipped_recipes()], "pallets/flask", "2.0").python is None
    assert find_recipe([own, shipped_recipes()], "pallets/flask", "2.1").python == "3.10"
    assert find_recipe([own], "pallets/flask", "2.1") is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[[recipe", "expected TOML: "),
        ("", "recipe: is missing"),
        ('[[recipe]]\nrepo = "x"', "recipe.0.repo: 'x' does not match"),
        ('[[recipe]]\nrepo = "a/b"\npython = "2.7"', "recipe.0.python: '2.7' does not match"),
        ('[[recipe]]\nrepo = "a/b"\napt = ["x; rm"]', "recipe.0.apt.0: 'x; rm' does not match"),
        ('[[recipe]]\nrepo = "a/b"\ntest_command = "tox"', "recipe.0.test_command: expected `py"),
        ('[[recipe]]\nrepo = "a/b"\nimage = "x"', "recipe.0.image: unknown key"),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_field(write, text, what):
    path = write(text)
    with pytest.raises(InputError) as told:
        read_recipes(path)
    assert str(told.value).startswith(f"{path}: {what}")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"gone\.toml: expected a file of recipes, cannot read"):
        read_recipes(tmp_path / "gone.toml")
