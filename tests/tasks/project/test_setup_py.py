from agentbench.tasks.project_files import parse_python, read_setup_py


def test_literals_of_the_call_are_read():
    found = read_setup_py(
        """
from setuptools import setup
setup(
    name="x",
    python_requires=">=3.6",
    classifiers=["Programming Language :: Python :: 3.7"],
    install_requires=["six"],
    extras_require={"test": ["pytest"], "docs": ["sphinx"]},
    tests_require=["mock"],
)
"""
    )
    assert found.installable
    assert found.requires_python == (">=3.6",)
    assert found.pythons == ("3.7",)
    assert found.requirements == ("six",)
    assert [(b.extras, b.known_requirements, b.requirements) for b in found.bundles] == [
        (("test",), ("pytest",), ()),
        ((), (), ("mock",)),
    ]


def test_names_sums_and_tables_that_are_assigned_before_are_followed():
    found = read_setup_py(
        """
import setuptools
base = ["pytest"]
tests = base + ["mock", *base]
settings = dict(tests_require=tests)
settings = {"tests_require": tests, "extras_require": {"dev": tests}}
setuptools.setup(**settings)
"""
    )
    assert [b.known_requirements or b.requirements for b in found.bundles] == [
        ("pytest", "mock", "pytest"),
        ("pytest", "mock", "pytest"),
    ]


def test_what_is_worked_out_at_run_time_counts_as_not_said():
    found = read_setup_py("setup(python_requires=f(), install_requires=open('r').readlines())")
    assert found.installable
    assert found.requires_python == ()
    assert found.requirements == ()


def test_nothing_of_it_is_run(tmp_path):
    witness = tmp_path / "ran"
    read_setup_py(f"open({str(witness)!r}, 'w')\nsetup(name=open({str(witness)!r}, 'w'))")
    assert not witness.exists()


def test_a_name_that_stands_for_itself_ends():
    assert read_setup_py("x = x\ny = [y]\nsetup(install_requires=x, tests_require=y)").bundles == ()


def test_what_another_python_wrote_is_an_empty_module():
    assert parse_python("print 'two'").body == []
    assert parse_python("\0").body == []
    assert read_setup_py("print 'two'").installable
    assert not read_setup_py(None).installable
