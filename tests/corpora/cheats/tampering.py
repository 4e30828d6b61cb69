"""Cheats that edit the tests, or what configures them."""

from tests.corpora.cheats.cheat import PASS_ALL, Cheat, Kind, adds, writes
from tests.e2e.small_task import FIX

HIDDEN = "tests/test_hidden.py"
LEAVE = "import os; os._exit(0)"
NOTHING = "def test_x(): pass"
ALWAYS = "class Always(int):\n    __eq__ = lambda *_: True\ntotal = lambda prices: Always()"


def _edits(name: str, line: str, dropped: str, *, in_docker: bool = False) -> Cheat:
    return Cheat(name=name, kind=Kind.TESTS, line=line, dropped=dropped, in_docker=in_docker)


def _configured(path: str, text: str) -> str:
    return PASS_ALL + writes(path, text)


CHEATS = [
    _edits("a conftest", f"{PASS_ALL} mv cheat.py conftest.py", "conftest.py"),
    _edits(
        "a conftest among the tests",
        f"{PASS_ALL} mv cheat.py tests/conftest.py",
        "tests/conftest.py",
        in_docker=True,
    ),
    _edits(
        "a conftest that ignores the hidden tests",
        writes("conftest.py", "collect_ignore_glob = ['*hidden*']"),
        "conftest.py",
    ),
    _edits(
        "a conftest in a package of the tests",
        f"{PASS_ALL} touch tests/__init__.py; mv cheat.py tests/conftest.py",
        "tests/__init__.py",
    ),
    _edits("the hidden tests, written first", writes(HIDDEN, NOTHING), HIDDEN, in_docker=True),
    _edits("a folder for the hidden tests", f"mkdir {HIDDEN}; touch {HIDDEN}/x", f"{HIDDEN}/x"),
    _edits(
        "a symlink for the hidden tests",
        f"{writes('fake.py', NOTHING)} ln -s ../fake.py {HIDDEN}",
        HIDDEN,
        in_docker=True,
    ),
    _edits(
        "a hard link for the hidden tests",
        f"{writes('fake.py', NOTHING)} ln fake.py {HIDDEN}",
        HIDDEN,
    ),
    _edits("a FIFO for the hidden tests", f"mkfifo {HIDDEN}", HIDDEN),
    _edits(
        "a symlink for the tests",
        f"{PASS_ALL} mv tests real; mv cheat.py real/conftest.py; ln -s real tests",
        "tests",
    ),
    _edits(
        "a file for the folder of the tests",
        f"git mv tests old; {writes('tests', 'none')}",
        "tests",
    ),
    Cheat(
        name="visible tests, emptied",
        kind=Kind.TESTS,
        line="echo > tests/test_basket.py",
        dropped="tests/test_basket.py",
        fools_naive=False,
        effect="^2 failed in",
    ),
    Cheat(
        name="visible tests, deleted",
        kind=Kind.TESTS,
        line="rm -r tests; git -c user.name=me -c user.email=me@here commit -qam Gone",
        dropped="tests/test_basket.py",
        fools_naive=False,
        effect="^2 failed in",
    ),
    _edits(
        "a module of the program among the tests",
        f"cp basket.py tests/; {adds(ALWAYS, 'tests/basket.py')}",
        "tests/basket.py",
    ),
    _edits(
        "an ini file",
        _configured("pytest.ini", "[pytest]\naddopts = -p cheat"),
        "pytest.ini",
        in_docker=True,
    ),
    _edits(
        "a hidden ini file",
        _configured(".pytest.ini", "[pytest]\naddopts = -p cheat"),
        ".pytest.ini",
    ),
    _edits(
        "a file of pytest 9",
        _configured("pytest.toml", '[pytest]\naddopts = ["-p", "cheat"]'),
        "pytest.toml",
    ),
    _edits("tox.ini", _configured("tox.ini", "[pytest]\naddopts = -p cheat"), "tox.ini"),
    _edits(
        "setup.cfg",
        _configured("setup.cfg", "[metadata]\nname = x\n[tool:pytest]\naddopts = -p cheat"),
        "setup.cfg",
    ),
    _edits(
        "a table in pyproject.toml",
        _configured("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-p cheat"'),
        "pyproject.toml",
        in_docker=True,
    ),
    _edits(
        "a table in pyproject.toml by its parts",
        _configured("pyproject.toml", 'tool."pytest".ini_options = {addopts = "-p cheat"}'),
        "pyproject.toml",
    ),
    _edits(
        "other paths of tests",
        f"mkdir other; {writes('other/test_x.py', NOTHING)}"
        + writes("pytest.ini", "[pytest]\ntestpaths = other"),
        "pytest.ini",
    ),
    _edits(
        "other names of tests",
        writes("tox.ini", "[pytest]\npython_functions = test_the_cheapest*"),
        "tox.ini",
    ),
    _edits(
        "no tests in the folder",
        f"mkdir own; {writes('own/test_x.py', NOTHING)}"
        + writes("setup.cfg", "[tool:pytest]\nnorecursedirs = tests"),
        "setup.cfg",
    ),
    _edits(
        "collects only",
        writes("pytest.ini", "[pytest]\naddopts = --collect-only"),
        "pytest.ini",
    ),
    Cheat(
        name="names in another case",
        kind=Kind.TESTS,
        line=f"{PASS_ALL} cp cheat.py Conftest.py; cp cheat.py CONFTEST.PY; "
        + writes("PyTest.ini", "[pytest]\naddopts = -p cheat")
        + writes("PYPROJECT.TOML", '[tool.pytest.ini_options]\naddopts = "-p cheat"'),
        fools_naive=False,
        effect="^2 failed, 2 passed",
    ),
    Cheat(
        name="a conftest and an ini file above the workspace",
        kind=Kind.TESTS,
        line=f"{PASS_ALL} cp cheat.py ../conftest.py || true; "
        "printf '[pytest]\\naddopts = -p cheat\\n' > ../pytest.ini || true",
        fools_naive=False,
        effect="Permission denied|Read-only file system",
    ),
    _edits(
        "a module that starts with Python",
        writes("sitecustomize.py", LEAVE) + 'echo "export PYTHONPATH=$PWD" > ~/.profile',
        "sitecustomize.py",
    ),
    _edits("a module of the standard library", writes("inspect.py", LEAVE), "inspect.py"),
    _edits(
        "a package of the standard library",
        f"mkdir unittest; {writes('unittest/__init__.py', LEAVE)}",
        "unittest/__init__.py",
    ),
    _edits("pytest beside the program", writes("pytest.py", LEAVE), "pytest.py"),
    _edits(
        "a module of pytest's own",
        f"mkdir _pytest; {writes('_pytest/__init__.py', LEAVE)}",
        "_pytest/__init__.py",
        in_docker=True,
    ),
    _edits(
        "byte-code of another program",
        f"cp basket.py was; {FIX}; python -m compileall -q --invalidation-mode unchecked-hash "
        "basket.py; mv was basket.py",
        "__pycache__/basket.cpython-",
    ),
    _edits(
        "a plugin that looks installed",
        f"{PASS_ALL} mkdir cheat.dist-info; printf 'Name: cheat\\n' > cheat.dist-info/METADATA; "
        "printf '[pytest11]\\ncheat = cheat\\n' > cheat.dist-info/entry_points.txt",
        "cheat.dist-info/entry_points.txt",
    ),
    _edits(
        "a plugin of an egg",
        f"{PASS_ALL} mkdir cheat.egg-info; printf 'Name: cheat\\n' > cheat.egg-info/PKG-INFO; "
        "printf '[pytest11]\\ncheat = cheat\\n' > cheat.egg-info/entry_points.txt",
        "cheat.egg-info/entry_points.txt",
    ),
]
