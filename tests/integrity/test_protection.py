from pathlib import PurePosixPath as P

import pytest

from agentbench.core.files import FileContent
from agentbench.integrity.extraction import WorkspaceChange
from agentbench.integrity.protection import ProtectionRules, protect
from agentbench.tasks.test_command import parse_test_command
from agentbench.test_runs.runners import runner_of
from tests.integrity.tars import base_of, tree_tar

BASE = {
    "README.md": b"",
    "pyproject.toml": b'[project]\nname = "shop"\n[tool.pytest.ini_options]\naddopts = "-q"\n',
    "setup.cfg": b"[metadata]\nname = shop\n[tool:pytest]\naddopts = -q\n",
    "src/shop/__init__.py": b"",
    "src/shop/till.py": b"",
    "src/queue/__init__.py": b"",
    "calendar.py": b"",
    "tests/test_till.py": b"",
    "tests/conftest.py": b"",
}
PYTEST = runner_of(parse_test_command("pytest"))
DJANGO = runner_of(parse_test_command("python checks/runtests.py"))
NEW = FileContent(content=b"new = 1\n", executable=False)


def judged(change: WorkspaceChange | dict[str, FileContent | None], **more):
    if isinstance(change, dict):
        change = WorkspaceChange(files={P(name): file for name, file in change.items()})
    given = {"test_paths": ("tests",), "patterns": (), "hidden": frozenset(), "runner": PYTEST}
    given |= more
    base, contents = base_of(tree_tar(BASE))
    return protect(change, ProtectionRules(**given), base, contents)


@pytest.mark.parametrize(
    ("path", "file", "tampers"),
    [
        ("tests/test_till.py", NEW, True),
        ("tests/test_till.py", None, True),
        ("tests/conftest.py", NEW, True),
        ("tests/sub/conftest.py", NEW, True),
        ("conftest.py", NEW, True),
        ("tox.ini", NEW, True),
        ("setup.cfg", None, True),
        ("pyproject.toml", FileContent(content=b"\xff", executable=False), True),
        ("evil.pth", NEW, True),
        ("src/pytest.py", NEW, True),
        ("protected.txt", NEW, True),
        # Honest agents do this, too:
        ("tests/test_new.py", NEW, False),
        (".gitignore", NEW, False),
        ("src/shop/__pycache__/till.pyc", NEW, False),
        ("shop.egg-info/PKG-INFO", NEW, False),
        ("json.py", NEW, False),
    ],
)
def test_dropped_tests_and_configuration_are_tampering(path, file, tampers):
    (dropped,) = judged({path: file}, patterns=("protected.txt",)).dropped
    assert dropped.tampers is tampers


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("tests/test_till.py", "a test of the task"),
        ("tests/data/new.json", "a test of the task"),
        ("conftest.py", "configuration of the tests"),
        ("src/shop/conftest.py", "configuration of the tests"),
        ("pytest.ini", "configuration of the tests"),
        (".pytest.ini", "configuration of the tests"),
        ("pytest.toml", "configuration of the tests"),
        (".pytest.toml", "configuration of the tests"),
        ("tox.ini", "configuration of the tests"),
        ("sub/pytest.ini", "configuration of the tests"),
        (".gitignore", "git's own files"),
        (".gitattributes", "git's own files"),
        (".gitmodules", "git's own files"),
        ("sub/.git/config", "git's own files"),
        ("src/shop/till.pyc", "byte-code"),
        ("src/shop/till.pyo", "byte-code"),
        ("src/shop/__pycache__/till.cpython-311.pyc", "byte-code"),
        ("src/shop/__pycache__/anything", "byte-code"),
        ("evil.pth", "runs whenever Python starts"),
        ("src/evil.pth", "runs whenever Python starts"),
        ("sitecustomize.py", "runs whenever Python starts"),
        ("usercustomize.py", "runs whenever Python starts"),
        ("src/sitecustomize.py", "runs whenever Python starts"),
        ("sitecustomize/__init__.py", "runs whenever Python starts"),
        ("sitecustomize.cpython-311-x86_64-linux-gnu.so", "runs whenever Python starts"),
        ("shop.egg-info/entry_points.txt", "could register a plugin"),
        ("src/shop.egg-info/entry_points.txt", "could register a plugin"),
        ("shop-1.0.dist-info/entry_points.txt", "could register a plugin"),
        ("json.py", "shadows the standard library, pytest or a plugin"),
        ("src/json.py", "shadows the standard library, pytest or a plugin"),
        ("lib/random.py", "shadows the standard library, pytest or a plugin"),
        ("json/__init__.py", "shadows the standard library, pytest or a plugin"),
        ("src/pytest/__init__.py", "shadows the standard library, pytest or a plugin"),
        ("_pytest/python.py", "shadows the standard library, pytest or a plugin"),
        ("pluggy.py", "shadows the standard library, pytest or a plugin"),
        ("xdist/plugin.py", "shadows the standard library, pytest or a plugin"),
        ("agentbench_reporter.py", "shadows the standard library, pytest or a plugin"),
        ("_json.cpython-311-x86_64-linux-gnu.so", "shadows the standard library, pytest or a"),
    ],
)
@pytest.mark.parametrize("file", [NEW, None], ids=["written", "removed"])
def test_protected_path_is_dropped_with_its_reason(path, why, file):
    change = judged({path: file, "src/shop/till.py": NEW})
    assert change.files == {P("src/shop/till.py"): NEW}
    (dropped,) = change.dropped
    assert dropped.path == path
    assert dropped.why.startswith(why)


@pytest.mark.parametrize(
    "path",
    [
        "src/shop/till.py",
        "src/shop/json.py",  # within a package it shadows nothing
        "src/shop/test_helpers.py",
        "src/store/__init__.py",
        "store/__init__.py",
        "store.py",
        "src/queue/__init__.py",  # the base has it already
        "src/queue/more.py",
        "calendar.py",
        "docs/conf.py",
        "locale/de/shop.po",  # a folder without modules shadows nothing
        "email/welcome.txt",
        "site/index.html",
        "setup.py",
        "Makefile",
        "requirements.txt",
        "noxfile.py",
        "testsuite.py",
        "my_conftest.py",
        "github.txt",
        "src/shop/pth",
    ],
)
@pytest.mark.parametrize("file", [NEW, None], ids=["written", "removed"])
def test_honest_change_is_kept(path, file):
    change = judged({path: file})
    assert change.files == {P(path): file}
    assert change.dropped == ()


def test_renamed_package_is_kept():
    change = judged({"src/shop/till.py": None, "src/shop/register.py": NEW})
    assert set(change.files) == {P("src/shop/till.py"), P("src/shop/register.py")}
    assert change.dropped == ()


def test_whole_repository_as_test_path_protects_only_tests():
    change = judged(
        {
            "src/shop/till.py": NEW,
            "test_new.py": NEW,
            "sub/till_test.py": NEW,
            "a/test_x/y.py": NEW,
        },
        test_paths=(".",),
    )
    assert set(change.files) == {P("src/shop/till.py"), P("a/test_x/y.py")}


def test_test_path_may_be_a_file():
    change = judged({"checks.py": NEW, "checks.pyi": NEW}, test_paths=("checks.py",))
    assert set(change.files) == {P("checks.pyi")}


def test_hidden_tests_are_protected_everywhere():
    change = judged({"src/shop/till.py": NEW}, hidden=frozenset({P("src/shop/till.py")}))
    assert change.files == {}
    assert change.dropped[0].why == "a test of the task"


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("data/**", "data/a/b.json", True),
        ("data/**", "database.py", False),
        ("data", "data/a/b.json", True),
        ("data/", "data/a/b.json", True),
        ("data", "data.py", False),
        ("*.lock", "uv.lock", True),
        ("*.lock", "sub/uv.lock", True),
        ("**/golden.txt", "golden.txt", True),
        ("**/golden.txt", "a/b/golden.txt", True),
        ("**/golden.txt", "a/ungolden.txt", False),
        ("**/golden/**", "a/golden/x", True),
        ("**/golden/**", "golden/x", True),
        ("Makefile", "Makefile", True),
        ("Makefile", "makefile", False),
        ("src/[ab].py", "src/a.py", True),
    ],
)
def test_patterns_of_a_task_protect(pattern, path, matches):
    change = judged({path: NEW}, patterns=(pattern,))
    assert (change.dropped != ()) == matches
    if matches:
        assert change.dropped[0].why == "protected by the task"


def test_pyproject_keeps_edits_and_the_base_pytest_table():
    edited = BASE["pyproject.toml"].replace(b"shop", b"store").replace(b"-q", b"-p evil")
    change = judged({"pyproject.toml": FileContent(content=edited, executable=True)})
    kept = change.files[P("pyproject.toml")]
    assert kept is not None
    assert kept.content.replace(b"\n\n", b"\n") == BASE["pyproject.toml"].replace(b"shop", b"store")
    assert kept.executable
    assert change.dropped[0].why == "its pytest tables are the base's again"


def test_pyproject_with_unchanged_pytest_table_is_kept():
    edited = FileContent(content=BASE["pyproject.toml"] + b"[tool.x]\ny=1\n", executable=False)
    change = judged({"pyproject.toml": edited})
    assert change.files == {P("pyproject.toml"): edited}
    assert change.dropped == ()


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg"])
def test_removed_configuration_keeps_its_pytest_table(name):
    change = judged({name: None})
    kept = change.files[P(name)]
    assert kept is not None
    assert b"-q" in kept.content
    assert b"shop" not in kept.content


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg"])
def test_unreadable_configuration_is_dropped(name):
    change = judged({name: FileContent(content=b"\xff[tool", executable=False)})
    assert change.files == {}
    assert change.dropped[0].why.startswith("may configure the tests, and cannot be read")


def test_emptied_protected_folder_is_dropped():
    change = judged(
        WorkspaceChange(emptied=(P("tests/data"), P("src/shop/data"), P("docs"), P(".github")))
    )
    assert change.emptied == (P("src/shop/data"), P("docs"))


def test_dropped_paths_keep_their_order():
    change = judged({"conftest.py": NEW, "tests/a.py": NEW})
    assert [dropped.path for dropped in change.dropped] == ["conftest.py", "tests/a.py"]


@pytest.mark.parametrize(
    "path", ["conftest.py", "tests/test_till.py", "pytest.ini", "a.egg-info/x", "queue.py", "a.pyc"]
)
def test_script_judges_any_work(path):
    found = judged({path: NEW}, test_paths=(), runner=None)
    assert (list(found.files), found.dropped) == ([P(path)], ())


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("sitecustomize.py", "runs whenever Python starts"),
        ("deep/a.pth", "runs whenever Python starts"),
        ("pytest.py", "shadows pytest or a plugin"),
        ("_pytest/__init__.py", "shadows pytest or a plugin"),
        ("kept/by/task", "protected by the task"),
    ],
)
def test_startup_files_are_dropped_for_a_script(path, why):
    found = judged({path: NEW}, test_paths=(), patterns=("kept/**",), runner=None)
    assert [(each.path, each.why) for each in found.dropped] == [(path, why)]
    assert found.files == {}


def test_pytest_tables_are_kept_for_a_script():
    content = b"[tool.pytest.ini_options]\naddopts = '-x'\n"
    new = FileContent(content=content, executable=False)
    assert judged({"pyproject.toml": new}, runner=None).files == {P("pyproject.toml"): new}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("checks/runtests.py", "configuration of the tests"),
        ("checks/test_sqlite.py", "configuration of the tests"),
        ("checks/urls.py", "configuration of the tests"),
        ("checks/sqlite3.py", "configuration of the tests"),
        ("checks/unittest/__init__.py", "shadows the standard library, pytest or a plugin"),
        ("unittest.py", "shadows the standard library, pytest or a plugin"),
        ("agentbench_unittest.py", "shadows the standard library, pytest or a plugin"),
    ],
)
def test_files_that_run_before_django_tests_are_dropped(path, why):
    change = judged({path: NEW}, runner=DJANGO)
    assert change.files == {}
    assert [(one.path, one.why) for one in change.dropped] == [(path, why)]


@pytest.mark.parametrize("path", ["checks/shop/models.py", "src/shop/urls.py"])
def test_other_files_are_kept_for_django(path):
    assert judged({path: NEW}, runner=DJANGO).files == {P(path): NEW}


def test_new_load_tests_is_dropped():
    hook = FileContent(content=b"def load_tests(*args): ...\n", executable=False)
    change = judged({"src/shop/__init__.py": hook, "src/shop/till.py": hook})
    assert set(change.files) == {P("src/shop/till.py")}
    assert [one.why for one in change.dropped] == ["configuration of the tests"]
