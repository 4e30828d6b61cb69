import pytest

from agentbench.audit.setup_rules import InstallTarget, clones_of, installs_of, requirements_in

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
