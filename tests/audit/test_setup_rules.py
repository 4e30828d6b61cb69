import pytest

from agentbench.audit import setup_rules
from agentbench.audit.setup_rules import InstallTarget, clones_of, installs_of, requirements_in
from tests.audit.conftest import told

A = InstallTarget(name="a")
LOCAL = InstallTarget(local=True)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pip install a", [A]),
        ("python3 -m pip -q install 'a>=1' b==2", [A, InstallTarget(name="b", pinned=True)]),
        ("pip install a[x,y]==1", [InstallTarget(name="a", pinned=True)]),
        ("pip install -e '.[test]' .", [LOCAL, LOCAL]),
        ("pip install /x/y ~/z dist/a-1.whl", [LOCAL, LOCAL, LOCAL]),
        ("pip install -r a -rb --requirement=c", [InstallTarget(file=n) for n in "abc"]),
        ("pip install -i x --find-links=y a", [InstallTarget(name="a")]),
        ("pip install git+https://h/a", [InstallTarget(url="git+https://h/a")]),
        ("pip install -e git+https://h/a", [InstallTarget(url="git+https://h/a")]),
        ("pip install a&&pip install b;pip install c\npip install d",
         [InstallTarget(name=n) for n in "abcd"]),
        ("(pip install a)|tee x", [InstallTarget(name="a")]),
        ("pip download a", []),
        ("npm install a", []),
        ("pip install", []),
        ("pip install -r", [InstallTarget()]),
        ("pip install 'a", [LOCAL]),
        ("", []),
    ],
)  # fmt: skip
def test_what_a_command_installs_is_read(command, expected):
    assert list(installs_of(command)) == expected


def test_a_file_of_requirements_is_read():
    text = "# x\na  # why\nb==1 ; python_version<'3'\n-r more.txt\n-e .\n\nc>=1,\\\n <2\ngit+https://h/d\n"
    assert list(requirements_in(text)) == [
        InstallTarget(name="a"),
        InstallTarget(name="b", pinned=True),
        InstallTarget(file="more.txt"),
        LOCAL,
        InstallTarget(name="c"),
        InstallTarget(url="git+https://h/d"),
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git clone --depth 1 https://h/a b", ["https://h/a"]),
        ("cd x; git fetch ssh://h/a", ["ssh://h/a"]),
        ("git status https://h/a", []),
        ("curl https://h/a", []),
    ],
)
def test_what_git_fetches_is_read(command, expected):
    assert list(clones_of(command)) == expected


NAMED = {"pyproject.toml": '[project]\nname = "price-basket"\n'}


def setup(*commands: str, more: str = "") -> str:
    return f"[setup]\ncommands = {list(commands)}\n{more}"


@pytest.mark.parametrize(
    "command",
    [
        "pip install price-basket",
        "python -m pip install --quiet 'Price_Basket[test]>=2'",
        "cd /tmp && pip3 install price.basket==2.0",
        "uv pip install -U price-basket",
        "pip install pytest; /usr/bin/pip install -i mirror price-basket",
        "pip install -r requirements.txt",
        "pip install -rrequirements.txt",
    ],
)
def test_the_project_from_an_index_may_be_a_fixed_release(facts_of, command):
    files = {**NAMED, "requirements.txt": "# ours\npytest==8.0\nprice_basket >= 1 ; x\n"}
    (line,) = told(setup_rules.fixed_release_installed(facts_of(base=files, tables=setup(command))))
    assert line.startswith("warning ")
    assert line.endswith("the project itself, from an index: a fixed release may be installed")


@pytest.mark.parametrize(
    "command",
    [
        "pip install -e .",
        "pip install '.[test]' pytest==8.0",
        "pip install --no-index price-basket",
        "pip install pytest -c price-basket",
        "pip install ./price-basket",
        "pip install price-basket-extras==1",
        "pip --version",
        "echo 'pip install",
        "",
    ],
)
def test_other_installs_are_none(facts_of, command):
    tables = setup(command) if command else ""
    assert told(setup_rules.fixed_release_installed(facts_of(base=NAMED, tables=tables))) == []


def test_without_a_network_nothing_comes_from_outside(facts_of):
    tables = setup("pip install price-basket", more="network = false")
    assert told(setup_rules.fixed_release_installed(facts_of(base=NAMED, tables=tables))) == []


@pytest.mark.parametrize(
    "command",
    [
        "pip install git+https://example.org/shop/price-basket.git@main",
        "pip install 'price @ git+https://example.org/price_basket'",
        "git clone https://example.org/shop/price-basket /opt/x",
        "git remote add up https://example.org/shop/price-basket.git",
    ],
)
def test_the_project_from_where_it_comes_from_is_found(facts_of, command):
    facts = facts_of(base=NAMED, tables=setup(command))
    (line,) = told(setup_rules.fixed_release_installed(facts))
    assert line.startswith("warning task.toml: setup.commands[0]: ")


def test_a_dockerfile_is_read_too(facts_of, tmp_path):
    (tmp_path / "small" / "environment").mkdir(parents=True)
    (tmp_path / "small" / "environment" / "Dockerfile").write_text(
        "FROM python:3.12\n"
        + "\n" * 500_000
        + "RUN apt-get update && \\\n    pip install price-basket\n"
    )
    tables = '[environment]\ndockerfile = "environment/Dockerfile"\n'
    (line,) = told(setup_rules.fixed_release_installed(facts_of(base=NAMED, tables=tables)))
    assert line.startswith("warning Dockerfile: installs price-basket")


def test_what_is_not_pinned_is_named_once(facts_of):
    facts = facts_of(tables=setup("pip install pytest six==1.0", "pip install 'attrs>=20'"))
    (line,) = told(setup_rules.unpinned_installs(facts))
    assert line.startswith("info task.toml: setup.commands[")
    assert "not pinned with ==: attrs, pytest; the checkout is not installed" in line


def test_an_installed_checkout_is_taken_into_account(facts_of):
    (line,) = told(setup_rules.unpinned_installs(facts_of(tables=setup("pip install -e . pytest"))))
    assert line.endswith("not pinned with ==: pytest")


def test_pinned_installs_are_fine(facts_of):
    assert (
        told(setup_rules.unpinned_installs(facts_of(tables=setup("pip install a==1 . -e x")))) == []
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_KEY", "x"),
        ("GITHUB_TOKEN", "x"),
        ("dbPassword", "x"),
        ("PLAIN", "ghp_" + "a1" * 18),
        ("DATABASE", "postgres://me:pass@db/x"),
    ],
)
def test_secrets_are_found_by_name_or_form_and_never_repeated(facts_of, name, value):
    facts = facts_of(tables=f'[environment]\nenv = {{ {name} = "{value}" }}')
    (line,) = told(setup_rules.secrets_in_environment(facts))
    assert line.startswith(f"warning task.toml: environment.env.{name}: ")
    assert value not in line or value == "x"


@pytest.mark.parametrize(
    ("name", "value"),
    [("KEYBOARD", "x"), ("TOKENIZERS_PARALLELISM", "1"), ("API_KEY", ""), ("MONKEY", "1"),
     ("URL", "http://host:80/x@y")],
)  # fmt: skip
def test_other_variables_are_not_secrets(facts_of, name, value):
    facts = facts_of(tables=f'[environment]\nenv = {{ {name} = "{value}" }}')
    assert told(setup_rules.secrets_in_environment(facts)) == []


def test_a_secret_in_a_command_is_found(facts_of):
    facts = facts_of(tables=setup("pip install -f https://me:pw@host/links x==1"))
    assert told(setup_rules.secrets_in_environment(facts)) == [
        "warning task.toml: setup.commands[0]: contains text that looks like a secret"
    ]


def test_addresses_of_own_networks_in_a_list_of_hosts_are_named(facts_of):
    tables = """[environment]
network = ["pypi.org", "127.0.0.1", "8.8.8.8", "10.0.0.0/8"]
[setup]
network = ["fd00::1"]
[agent]
network = true"""
    assert told(setup_rules.own_networks_listed(facts_of(tables=tables))) == [
        f"warning task.toml: {where}, which may be of this machine or of its networks"
        for where in (
            "setup.network: lists fd00::1",
            "environment.network: lists 127.0.0.1",
            "environment.network: lists 10.0.0.0/8",
        )
    ]
