from agentbench.tasks.project_files import parse_ini, read_setup_cfg

TEXT = """\
[metadata]
name = x
classifiers =
    Programming Language :: Python :: 3.8
    Programming Language :: Python :: 3.10
[options]
python_requires = >=3.7
install_requires =
    six  # for both
tests_require = nose
[options.extras_require]
testing =
    pytest>=3.5
    pytest-cov; python_version > "3"
docs = sphinx
"""


def test_metadata_and_options_are_read():
    found = read_setup_cfg(parse_ini(TEXT))
    assert found.installable
    assert found.requires_python == (">=3.7",)
    assert found.pythons == ("3.8", "3.10")
    assert found.requirements == ("six",)


def test_an_extra_for_tests_and_tests_require_are_bundles():
    extra, required = read_setup_cfg(parse_ini(TEXT)).bundles
    assert extra.extras == ("testing",)
    assert extra.known_requirements == ("pytest>=3.5", 'pytest-cov; python_version > "3"')
    assert required.requirements == ("nose",)
    assert required.extras == ()


def test_a_file_of_tool_settings_installs_nothing():
    found = read_setup_cfg(parse_ini("[flake8]\nmax-line-length = 100%\n"))
    assert not found.installable
    assert found.bundles == ()


def test_what_is_no_ini_file_has_no_sections():
    assert parse_ini("no section = here").sections() == []
    assert parse_ini(None).sections() == []
