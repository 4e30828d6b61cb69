import tomllib
from importlib.resources import files
from pathlib import PurePosixPath

import iniconfig
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.test_runs.python_files import (
    PythonTestFiles,
    UnreadableTablesError,
    restore_pytest_tables,
)

PROJECT = b"""\
# what this is
[project]
name = "shop"       # spaced

[tool.pytest.ini_options]
addopts = "-q"      # ours
testpaths = ["tests"]

[tool.ruff]
line-length = 100
"""
SETUP = b"""\
[metadata]
name = shop

[options.package_data]
MyPackage = *.txt

# about tests
[tool:pytest]
addopts = -q

[flake8]
max-line-length = 100
"""


def test_only_files_that_share_their_tables_can_be_restored():
    for name in ("pyproject.toml", "setup.cfg"):
        assert restore_pytest_tables(name, b"", b"") is None
    with pytest.raises(KeyError):
        restore_pytest_tables("tox.ini", b"", b"")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'name = "shop"', b'name = "store"'),
        (b"[tool.ruff]", b"[tool.mypy]\nstrict = true\n\n[tool.ruff]"),
        (b"line-length = 100\n", b""),
        (b"# ours", b"# a comment"),
        (b"", b""),
    ],
)
def test_other_tables_of_pyproject_are_the_agents(old, new):
    assert restore_pytest_tables("pyproject.toml", PROJECT, PROJECT.replace(old, new, 1)) is None


@pytest.mark.parametrize(
    "edit",
    [
        (b'addopts = "-q"      # ours', b'addopts = "-p evil"'),
        (b'addopts = "-q"      # ours\n', b""),
        (b'testpaths = ["tests"]', b'testpaths = ["nothing"]\npython_files = "x_*.py"'),
        (b"[tool.pytest.ini_options]", b"[tool.pytest.other]"),
        (b"[tool.pytest.ini_options]", b"[tool.pytest]\nnew = 1\n[tool.pytest.ini_options]"),
        (b"[tool.ruff]", b"[tool.pytest.more]\nx = 1\n[tool.ruff]"),
        (b"[tool.pytest.ini_options]", b'["tool"."pytest" . ini_options]\nxfail_strict = true'),
    ],
)
def test_a_pytest_table_of_pyproject_is_the_bases_again_and_the_rest_stays(edit):
    after = PROJECT.replace(*edit).replace(b'name = "shop"', b'name = "store"')
    assert tomllib.loads(after.decode())["tool"] != tomllib.loads(PROJECT.decode())["tool"]
    text = restore_pytest_tables("pyproject.toml", PROJECT, after)
    assert text is not None
    now = tomllib.loads(text.decode())
    assert now["tool"] == tomllib.loads(PROJECT.decode())["tool"]
    assert now["project"]["name"] == "store"
    assert text.startswith(b'# what this is\n[project]\nname = "store"       # spaced\n')


def test_table_missing_in_the_base_is_removed():
    before = b'[project]\nname = "shop"\n'
    after = before + b'[tool.pytest.ini_options]\naddopts = "-p evil"\n[tool.x]\ny = 1\n'
    text = restore_pytest_tables("pyproject.toml", before, after)
    assert text is not None
    assert tomllib.loads(text.decode()) == {"project": {"name": "shop"}, "tool": {"x": {"y": 1}}}


def test_a_file_that_is_new_or_gone_is_judged_by_its_tables_too():
    assert restore_pytest_tables("pyproject.toml", None, b'[project]\nname = "x"\n') is None
    added = restore_pytest_tables(
        "pyproject.toml", None, b'[tool.pytest.ini_options]\naddopts = "-x"\n'
    )
    assert added is not None
    assert tomllib.loads(added.decode()).get("tool", {}) == {}
    removed = restore_pytest_tables("pyproject.toml", PROJECT, None)
    assert tomllib.loads((removed or b"").decode())["tool"]["pytest"]["ini_options"] == {
        "addopts": "-q",
        "testpaths": ["tests"],
    }
    assert restore_pytest_tables("pyproject.toml", b"[project]\n", None) is None


def test_true_and_1_differ_in_toml():
    before, after = (b"[tool.pytest]\nxfail_strict = %s\n" % word for word in (b"true", b"1"))
    assert restore_pytest_tables("pyproject.toml", before, after) is not None


@pytest.mark.parametrize(
    "after",
    [
        b"[tool",
        b"tool = 3\n",
        b'tool = "pytest"\n',
        b"[[tool]]\npytest = 1\n",
        b"\xff\xfe",
        b"\xef\xbb\xbf[tool.x]\n",
        b"x = " + b"[" * 100_000,
        b"# " + b"x" * (1024 * 1024),
        b"a = 1\na = 2\n",
    ],
)
def test_a_pyproject_that_cannot_be_read_may_configure_the_tests(after):
    with pytest.raises(UnreadableTablesError):
        restore_pytest_tables("pyproject.toml", PROJECT, after)


def test_pytest_as_no_table_is_restored_or_refused():
    for after in (b"[tool]\npytest = 3\n", b"tool.pytest = 3\n", b"tool = {pytest = {a = 1}}\n"):
        try:
            text = restore_pytest_tables("pyproject.toml", PROJECT, after)
        except UnreadableTablesError:
            continue
        assert tomllib.loads((text or b"").decode())["tool"]["pytest"] == {
            "ini_options": {"addopts": "-q", "testpaths": ["tests"]}
        }


keys = st.sampled_from(["pytest", "ruff", "a", "b"])
values = st.integers() | st.booleans() | st.text("xy[]\"'#=\n ", max_size=5)
tables = st.dictionaries(keys, st.dictionaries(keys, values, max_size=2), max_size=3)


@given(before=tables, after=tables)
def test_whatever_the_tables_the_result_has_the_bases_for_pytest_and_the_agents_else(before, after):
    import tomlkit

    texts = [tomlkit.dumps({"tool": each}).encode() for each in (before, after)]
    text = restore_pytest_tables("pyproject.toml", *texts)
    now = tomllib.loads((texts[1] if text is None else text).decode()).get("tool", {})
    assert now.pop("pytest", None) == before.get("pytest")
    assert now == {key: value for key, value in after.items() if key != "pytest"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"name = shop", b"name = store"),
        (b"[flake8]", b"[mypy]\nstrict = 1\n\n[flake8]"),
        (b"max-line-length = 100\n", b"max-line-length = 100\n\n[new]\nx = 1"),
    ],
)
def test_other_sections_of_setup_cfg_are_the_agents(old, new):
    assert restore_pytest_tables("setup.cfg", SETUP, SETUP.replace(old, new, 1)) is None


def test_a_pytest_section_of_setup_cfg_is_the_bases_again_and_the_rest_stays_to_the_byte():
    after = SETUP.replace(b"addopts = -q", b"addopts = -p evil").replace(b"100", b"79")
    text = restore_pytest_tables("setup.cfg", SETUP, after)
    assert text is not None
    assert text == (
        SETUP.replace(b"[tool:pytest]\naddopts = -q\n\n", b"").replace(b"100", b"79")
        + b"[tool:pytest]\naddopts = -q\n\n"
    )
    assert b"MyPackage = *.txt" in text


HOSTILE_INI = [
    "[tool:pytest]\n{}",
    "[metadata]\nname = x\n[tool:pytest] # ]\n{}",
    "[tool:pytest]#]\n{}",
    "[tool:pytest];]\n{}",
    "[tool:pytest]  \n{}",
    "[metadata]\nname = x\x0c[tool:pytest]\n{}",
    "[metadata]\nname = x\r[tool:pytest]\n{}",
    "[metadata]\nname = x\x85[tool:pytest]\n{}",
    "[metadata]\nname = x\u2028[tool:pytest]\n{}",
    "[metadata]\nname = x\x1c[tool:pytest]\n{}",
    "[metadata]\nname = x\n\n[pytest]\n{}",
    "[a]\nb = c\n[tool:pytest]\nminversion = 1\n{}",
]


@pytest.mark.parametrize("form", HOSTILE_INI)
@pytest.mark.parametrize("before", [None, SETUP, b"[metadata]\nname = shop\n"])
def test_no_section_that_pytests_own_parser_sees_slips_through(before, form):
    after = form.format("addopts = -p evil\n")
    assert "-p evil" in str(own_sections(after)), "a form that pytest does not read proves nothing"
    text = restore_pytest_tables("setup.cfg", before, after.encode())
    assert text is not None
    assert own_sections(text.decode()) == own_sections((before or b"").decode())


def own_sections(text: str) -> dict[str, dict[str, str]]:
    """What pytest reads of a setup.cfg."""
    found = iniconfig.IniConfig("setup.cfg", data=text)
    return {
        section.name: dict(section.items())
        for section in found
        if section.name in ("tool:pytest", "pytest")
    }


def test_binary_setup_cfg_may_configure_the_tests():
    with pytest.raises(UnreadableTablesError):
        restore_pytest_tables("setup.cfg", SETUP, b"\xff[tool:pytest]")


def test_a_setup_cfg_that_is_gone_leaves_the_pytest_section():
    assert restore_pytest_tables("setup.cfg", SETUP, None) == b"[tool:pytest]\naddopts = -q\n\n"
    assert restore_pytest_tables("setup.cfg", b"[metadata]\n", None) is None


def test_file_with_the_name_of_a_mounted_program_is_not_judged():
    mounted = files("agentbench.test_runs").joinpath("mounted").iterdir()
    names = [each.name for each in mounted if each.name.startswith("agentbench_")]
    found = [PythonTestFiles([]).why(PurePosixPath(name)) for name in names]
    assert names
    assert all(each is not None and each.tampers for each in found)
