import re
from datetime import date

import pytest
from pydantic import ValidationError

from agentbench.errors import InputError
from agentbench.extensions.swebench.environment_choice import EnvironmentChoice
from agentbench.extensions.swebench.environments import (
    DOCKERFILE,
    EnvironmentSources,
    InstanceEnvironment,
    UnknownEnvironmentError,
    check_image_template,
    environment_of,
    runner_of,
)
from agentbench.extensions.swebench.instance import SwebenchInstance
from agentbench.extensions.swebench.recipes import (
    InstallRecipe,
    InstallRecipes,
    find_recipe,
    read_recipes,
    shipped_recipes,
)
from agentbench.tasks.task import TaskSetup
from agentbench.tasks.task_file import EnvironmentTable
from agentbench.tasks.test_runner_name import Runner

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
    with pytest.raises(InputError) as result:
        read_recipes(path)
    assert str(result.value).startswith(f"{path}: {what}")


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"gone\.toml: expected a file of recipes, cannot read"):
        read_recipes(tmp_path / "gone.toml")


SHIPPED = [shipped_recipes()]


def instance(**changes):
    given = {
        "instance_id": "Acme__Counting-7",
        "repo": "Acme/Counting",
        "patch": "x",
        "version": "1.0",
        "FAIL_TO_PASS": ["t.py::a"],
        "PASS_TO_PASS": [],
        **changes,
    }
    return SwebenchInstance.model_validate(given)


def one(**recipe):
    return [InstallRecipes(recipe=(InstallRecipe(repo="Acme/Counting", **recipe),))]


@pytest.mark.parametrize("image", [None, "acme/{instance_id}"])
def test_the_commands_of_a_recipe_before_the_tests_are_those_of_the_task(image):
    build = "python setup.py build_ext --inplace"
    sources = EnvironmentSources(shipped=one(before=(build,)), image_template=image)
    found = environment_of(instance(), sources)
    assert found.tests().before == (build,)
    (versioned,) = found.with_project_version("1.5").tests().before
    assert versioned == f"export SETUPTOOLS_SCM_PRETEND_VERSION=1.5; {build}"


def test_a_recipe_of_another_language_has_its_runner_its_report_and_an_image_with_its_tools():
    recipe = one(
        tools=("node",),
        runner="junit",
        test_command="build/bin/{stem}",
        report="reports/*.xml",
        before=("make {stem}",),
        install="",
    )
    found = environment_of(instance(), EnvironmentSources(shipped=recipe))
    assert found.environment.image == "agentbench/python:3.11-node18"
    tests = found.for_tests(["test/printf-test.cc", "test/other.cc"]).tests()
    assert (tests.runner, tests.report) == (Runner.JUNIT, "reports/*.xml")
    assert (tests.command, tests.before) == ("build/bin/printf-test", ("make printf-test",))


def test_a_recipe_names_the_files_of_tests_each_as_one_word():
    recipe = one(runner="tap", test_command="run {files}", before=("ls {files}",), install="")
    found = environment_of(instance(), EnvironmentSources(shipped=recipe))
    tests = found.for_tests(["test/a b.rb", "test/other.rb"]).tests()
    assert tests.command == "run 'test/a b.rb' test/other.rb"
    assert tests.before == ("ls 'test/a b.rb' test/other.rb",)


def test_every_shipped_recipe_starts_a_runner():
    runners = {each.repo: each.test_runner for each in shipped_recipes().recipe if not each.refuse}
    assert (runners["axios/axios"], runners["gin-gonic/gin"]) == (Runner.MOCHA, Runner.GO)


def test_a_recipe_becomes_an_image_and_commands_in_its_order():
    own = one(
        python="3.9",
        pre_install=("sed -i s/a/b/ setup.py",),
        requirements=("dev.txt", "test.txt"),
        packages=("numpy==1.25.2", "cython<3"),
        env={"TZ": "UTC"},
    )
    found = environment_of(instance(), EnvironmentSources(own=own))
    assert found.environment == EnvironmentTable(image="agentbench/python:3.9", env={"TZ": "UTC"})
    assert found.setup.commands == (
        "sed -i s/a/b/ setup.py",
        "if [ -f dev.txt ]; then python -m pip install -r dev.txt; "
        "elif [ -f test.txt ]; then python -m pip install -r test.txt; fi",
        "python -m pip install -e .",
    )
    assert found.setup.shared == ("python -m pip install numpy==1.25.2 'cython<3'",)
    assert (found.command, found.files) == ("pytest", {})
    assert (found.summary, found.replaces) == ("Python 3.9, by a recipe", "")


@pytest.mark.parametrize(
    "recipe",
    [
        {"packages": ("./plugin",)},
        {"packages": ("-r dev.txt", "attrs")},
        {"packages": ("plugin @ file:plugin",)},
        {"packages": ("attrs",), "pre_install": ("pip install build",)},
    ],
)
def test_packages_that_need_the_repository_are_not_shared(recipe):
    found = environment_of(instance(), EnvironmentSources(own=one(**recipe)))
    assert found.setup.shared == ()
    assert any(recipe["packages"][0] in command for command in found.setup.commands)


def test_a_dated_recipe_ignores_what_was_uploaded_later():
    own = one(python="3.9", uploaded_before=date(2024, 6, 15), packages=("pytest",))
    found = environment_of(instance(), EnvironmentSources(own=own))
    date_and_mode = (
        "PIP_UPLOADED_PRIOR_TO=2024-06-15T00:00:00Z PIP_CONFIG_SETTINGS=editable_mode=compat"
    )
    exported = f"export {date_and_mode}"
    shared = f"{exported}; python -m pip install --force-reinstall pytest"
    assert found.setup.shared == (shared,)
    assert found.setup.commands == (f"{exported}; python -m pip install -e .",)
    assert found.environment.pip == "26.0.1"  # the base image's pip does not know dates


@pytest.mark.parametrize("python", ["3.8", "3.9", "3.11"])
def test_a_recipe_without_a_date_uses_the_pip_of_its_image(python):
    found = environment_of(instance(), EnvironmentSources(own=one(python=python)))
    assert found.environment.pip is None


@pytest.mark.parametrize("python", ["3.6", "3.8"])
def test_a_dated_recipe_needs_a_pip_that_knows_dates(python):
    with pytest.raises(ValidationError, match=r"uploaded_before needs Python 3\.9 or newer"):
        InstallRecipe(repo="a/b", python=python, uploaded_before=date(2024, 6, 15))


def test_the_date_holds_where_pip_knows_dates():
    recipe = {"python": "3.6", "fallback_pythons": ("3.9",), "uploaded_before": date(2024, 6, 15)}
    for available, is_dated in (("3.6", False), ("3.9", True)):
        images = sources("recipes", f"agentbench/python:{available}", own=one(**recipe))
        found = environment_of(instance(), images).setup.commands[-1]
        assert found.startswith("export PIP_UPLOADED_PRIOR_TO=") is is_dated


REQUIREMENTS = """\
# Needed by most tests
asgiref >= 3.6.0  # the lowest
numpy; python_version < '3.13'
"""


@pytest.mark.parametrize(
    ("text", "changes", "shared"),
    [
        (REQUIREMENTS, {}, ["pip install 'asgiref>=3.6.0' 'numpy; python_version < \"3.13\"'"]),
        ("\n# none\n", {}, []),
        ("-r other.txt\n", {}, None),
        ("./local\n", {}, None),
        ("a @ file:///x\n", {}, None),
        (None, {}, None),
        (REQUIREMENTS, {"pre_install": ("sed -i s/a/b/ requirements.txt",)}, None),
    ],
    ids=["plain", "empty", "other file", "folder", "url", "unknown", "changed"],
)
def test_a_file_of_plain_requirements_is_shared(text, changes, shared):
    own = one(requirements=("gone.txt", "requirements.txt"), install="", **changes)
    texts = {"requirements.txt": text}
    setup = environment_of(instance(), EnvironmentSources(own=own), texts.get).setup
    if shared is None:
        assert setup.shared == ()
        assert "-r requirements.txt" in setup.commands[-1]
    else:
        assert setup.shared == tuple(f"python -m {each}" for each in shared)
        assert setup.commands == ()


def test_set_up_is_given_the_version_that_no_tag_says():
    found = environment_of(instance(), EnvironmentSources(own=one(pre_install=("make",))))
    assert found.with_project_version("5.2").setup.commands == (
        "export SETUPTOOLS_SCM_PRETEND_VERSION=5.2; make",
        "export SETUPTOOLS_SCM_PRETEND_VERSION=5.2; python -m pip install -e .",
    )


def test_packages_of_debian_are_installed_by_a_dockerfile():
    found = environment_of(
        instance(), EnvironmentSources(own=one(python="3.11", apt=("graphviz",)))
    )
    assert found.environment == EnvironmentTable(dockerfile=DOCKERFILE)
    lines = found.files[DOCKERFILE].decode().splitlines()
    assert lines[0] == "FROM agentbench/python:3.11"
    assert "install --yes --no-install-recommends graphviz" in lines[2]
    assert lines[-1] == "USER 1000:1000"


def test_an_image_keeps_the_installation_and_loses_the_history():
    template = "swebench/sweb.eval.x86_64.{hub_id}:latest"
    found = environment_of(instance(), EnvironmentSources(image_template=template))
    text = found.files[DOCKERFILE].decode()
    assert text.startswith("FROM swebench/sweb.eval.x86_64.acme_1776_counting-7:latest\n")
    assert "rm -rf /testbed/.git" in text
    (command,) = found.setup.commands
    assert "--skip-old-files" in command
    assert not found.setup.network


@pytest.mark.parametrize("field", ["image", "image_name", "docker_image"])
def test_the_data_set_s_own_image_serves_where_no_recipe_is_known(field):
    found = environment_of(instance(**{field: "x/y:1"}), EnvironmentSources(shipped=SHIPPED))
    assert found.files[DOCKERFILE].startswith(b"FROM x/y:1\n")
    asked = environment_of(
        instance(**{field: "x/y:1"}), EnvironmentSources(image_template="{image}")
    )
    assert asked == found


def sources(choice, *available, **more):
    """Sources for an engine that can get these images."""

    def fault(image):
        return None if image in available else f"no {image} here"

    return EnvironmentSources(
        choice=EnvironmentChoice(choice), image_fault=fault, shipped=SHIPPED, **more
    )


OFFICIAL = "swebench/sweb.eval.x86_64.pallets_1776_flask-5014:latest"
FLASK = {"instance_id": "pallets__flask-5014", "repo": "pallets/flask", "version": "2.3"}
RECIPE = "agentbench/python:3.11"


@pytest.mark.parametrize(
    ("choice", "available", "fields", "expected"),
    [
        ("auto", (OFFICIAL,), {}, OFFICIAL),
        ("auto", ("x/y:1", OFFICIAL), {"image_name": "x/y:1"}, "x/y:1"),
        ("auto", (), {}, RECIPE),
        ("auto", (OFFICIAL,), {"image": "gone:1"}, RECIPE),
        ("images", (OFFICIAL,), {}, OFFICIAL),
        ("recipes", (OFFICIAL, "x/y:1"), {"image": "x/y:1"}, RECIPE),
    ],
)
def test_an_image_that_the_engine_can_get_comes_before_a_recipe(
    choice, available, fields, expected
):
    found = environment_of(instance(**FLASK, **fields), sources(choice, *available))
    if expected == RECIPE:
        assert (found.environment.image, found.files) == (RECIPE, {})
        assert found.summary == "Python 3.11, by a recipe"
    else:
        assert found.files[DOCKERFILE].decode().startswith(f"FROM {expected}\n")
        assert (found.setup.network, found.summary) == (False, f"image {expected}")


def test_a_user_s_own_recipe_comes_before_an_image():
    own = [InstallRecipes(recipe=(InstallRecipe(repo="pallets/flask", python="3.9"),))]
    found = environment_of(instance(**FLASK), sources("auto", OFFICIAL, own=own))
    assert found.environment.image == "agentbench/python:3.9"


@pytest.mark.parametrize(
    ("choice", "fields", "what"),
    [
        ("images", FLASK, f"no {OFFICIAL} here; --environment auto can use a recipe instead"),
        ("images", {}, "names no image; give one with --image-template"),
        ("recipes", {"image": "x/y:1"}, "no recipe for Acme/Counting 1.0"),
    ],
)
def test_an_instance_without_the_environment_that_is_asked_for_is_refused(choice, fields, what):
    with pytest.raises(UnknownEnvironmentError, match=re.escape(what)):
        environment_of(instance(**fields), sources(choice, "x/y:1"))


@pytest.mark.parametrize(
    ("available", "python", "replaces"),
    [
        (("3.10", "3.9"), "3.10", ""),
        (("3.9", "3.11"), "3.9", "3.10"),
        (("3.11",), "3.11", "3.10"),
        ((), "3.10", ""),
    ],
)
def test_a_python_without_an_image_is_replaced_by_one_that_the_recipe_names(
    available, python, replaces
):
    own = one(python="3.10", fallback_pythons=("3.9", "3.11"), apt=("graphviz",))
    images = [f"agentbench/python:{each}" for each in available]
    found = environment_of(instance(), sources("recipes", *images, own=own))
    assert found.files[DOCKERFILE].decode().startswith(f"FROM agentbench/python:{python}\n")
    assert (found.summary, found.replaces) == (f"Python {python}, by a recipe", replaces)


def test_swe_rebench_s_own_words_come_before_the_shipped_recipes():
    result = {"python": "3.9", "install": "pip install -e .[x]", "pip_packages": ["attrs"]}
    flask = instance(repo="pallets/flask", install_config=result, docker_image="x/y")
    found = environment_of(flask, EnvironmentSources(shipped=SHIPPED))
    assert found.environment.image == "agentbench/python:3.9"
    assert found.setup.all_commands == (
        "python -m pip install pytest attrs",
        "pip install -e .[x]",
    )


@pytest.mark.parametrize(
    ("result", "what"),
    [
        ({"test_cmd": "tox -e py39"}, "install_config.test_cmd is 'tox -e py39', and agentbench"),
        ({"test_cmd": "pytest; rm -rf /"}, "install_config.test_cmd is 'pytest; rm -rf /'"),
        ({"python": "2.7"}, "install_config: python: '2.7' does not match"),
        ({"install": "x\0"}, "install_config"),
    ],
)
def test_words_that_make_no_task_are_refused(result, what):
    with pytest.raises((UnknownEnvironmentError, ValueError), match="install") as error:
        environment_of(instance(install_config=result), EnvironmentSources())
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("version", "python"),
    [
        ("1.8", "3.6"),
        ("2.2", "3.6"),
        ("3.2", "3.6"),
        ("4.0", "3.8"),
        ("4.2", "3.9"),
        ("5.2", "3.11"),
    ],
)
def test_django_runs_under_its_own_runner_with_the_authors_python(version, python):
    django = instance(repo="django/django", version=version)
    found = environment_of(django, EnvironmentSources(shipped=SHIPPED))
    assert f"FROM agentbench/python:{python}\n" in found.files[DOCKERFILE].decode()
    assert found.environment.env["LC_ALL"] == "C.UTF-8"
    assert any("tests/requirements/py3.txt" in command for command in found.setup.commands)
    assert found.tests().runner is Runner.DJANGO
    assert found.tests().command.startswith("python tests/runtests.py --settings=test_sqlite")
    assert runner_of(django, EnvironmentSources(shipped=SHIPPED)) is Runner.DJANGO


def test_django_in_an_image_of_the_data_set_has_its_runner_too():
    django = instance(repo="django/django", version="4.2")
    sources = EnvironmentSources(shipped=SHIPPED, image_template="x/{instance_id}")
    assert environment_of(django, sources).tests().runner is Runner.DJANGO
    assert runner_of(django, sources) is Runner.DJANGO


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("python -m unittest discover -v", Runner.UNITTEST),
        ("python3 ./runtests.py --verbosity 2", Runner.DJANGO),
        ("pytest -rA --no-header", Runner.PYTEST),
        ("", Runner.PYTEST),
        ("go test -v ./...", Runner.GO),
        ("cargo test --no-fail-fast", Runner.CARGO),
        ("npx jest --verbose", Runner.JEST),
        ("yarn vitest run --reporter=verbose", Runner.VITEST),
        ("npx mocha --reporter spec", Runner.MOCHA),
        ("node --test", Runner.NODE),
    ],
)
def test_the_command_of_swe_rebench_or_of_a_recipe_selects_the_runner(command, runner):
    rebench = instance(install_config={"test_cmd": command})
    assert environment_of(rebench, EnvironmentSources()).tests().runner is runner
    assert runner_of(rebench, EnvironmentSources()) is runner
    own = EnvironmentSources(own=one(test_command=command or "pytest"))
    assert environment_of(instance(), own).tests().runner is runner
    assert runner_of(instance(), own) is runner


def test_a_recipe_whose_command_does_not_start_its_runner_is_refused():
    with pytest.raises(ValidationError, match="expected `python"):
        one(runner="unittest", test_command="pytest")
    assert one(runner="unittest")[0].recipe[0].test_command == "python -m unittest"


def test_unknown_environment_is_left_to_detection():
    found = InstanceEnvironment(environment=EnvironmentTable(), setup=TaskSetup())
    asked = []
    sources = EnvironmentSources(
        shipped=SHIPPED, detect=lambda one: asked.append(one.repo) or found
    )
    assert environment_of(instance(), sources) is found
    assert asked == ["Acme/Counting"]
    with pytest.raises(UnknownEnvironmentError, match=r"no recipe for Acme/Counting 1\.0"):
        environment_of(instance(), EnvironmentSources(detect=lambda _one: None))


def test_a_recipe_whose_variables_are_none_is_refused():
    with pytest.raises(UnknownEnvironmentError, match="its set-up is not valid in a task: env"):
        environment_of(instance(), EnvironmentSources(own=one(env={"A B": "x"})))


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("x/{id}", r"unknown placeholder \{id\}; known: \{instance_id\}"),
        ("x y", "'x y' is not the name of an image"),
        ("", "'' is not the name of an image"),
        ("--x{image}", "is not the name of an image"),
    ],
)
def test_a_template_that_names_no_image_is_refused(template, what):
    with pytest.raises(ValueError, match=what):
        check_image_template(template)


def test_an_instance_whose_image_is_nowhere_named_is_refused():
    with pytest.raises(UnknownEnvironmentError, match="is not the name of an image"):
        environment_of(instance(), EnvironmentSources(image_template="{image}"))
