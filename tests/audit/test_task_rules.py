import pytest

from agentbench.audit import task_rules
from agentbench.audit.audit import TASK_RULES
from agentbench.audit.task_facts import read_task_facts
from agentbench.audit.task_rules import InstallTarget, installs_of
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.attempt.script_tasks import TEST, write_script_task
from tests.audit.conftest import lines_of
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED, patch_of

LONG_FIX = BUGGY.replace(
    "    return sum(prices[1:])\n",
    "    subtotal_of_prices = sum(int(price) for price in prices if price is not None)\n"
    "    rounded = round(subtotal_of_prices, 2)\n"
    "    checked = max(rounded, 0)\n"
    "    return checked\n",
)
COPY = f"{LONG_FIX}\n# a copy\n"
ADDED = LONG_FIX[LONG_FIX.index("    subtotal") : LONG_FIX.index("\n\ndef cheapest")]


@pytest.mark.parametrize("rule", TASK_RULES.values(), ids=TASK_RULES)
def test_ordinary_task_has_no_finding(facts_of, rule):
    assert lines_of(rule(facts_of(fix={"basket.py": LONG_FIX}))) == []


def test_copy_of_hidden_tests_in_base_is_a_warning(facts_of):
    facts = facts_of(base={"docs/examples/old.txt": HIDDEN})
    assert lines_of(task_rules.hidden_tests_in_base(facts)) == [
        "warning docs/examples/old.txt: has the content of the hidden tests/test_hidden.py"
    ]


def test_copy_of_hidden_file_without_tests_is_no_finding(facts_of):
    facts = facts_of(
        base={"tests/__init__.py": ""},
        hidden={"tests/test_hidden.py": HIDDEN, "tests/more/__init__.py": "\n"},
    )
    assert lines_of(task_rules.hidden_tests_in_base(facts)) == []


def test_fail_to_pass_tests_of_the_base_are_visible(facts_of):
    visible = "tests/test_basket.py::test_the_cheapest_is_found"
    facts = facts_of(listed=[*LISTED, visible])
    assert lines_of(task_rules.visible_tests(facts)) == [
        f"info {visible}: is unchanged in the base tree; an agent can read the deciding test"
    ]


def test_task_without_hidden_tests_is_a_warning(facts_of):
    visible = "tests/test_basket.py::test_the_cheapest_is_found"
    (line,) = lines_of(task_rules.visible_tests(facts_of(listed=[visible], hidden={})))
    assert line.startswith(f"warning {visible}: ")
    assert line.endswith("and no fail_to_pass test is hidden")


def test_rewritten_test_is_not_visible(facts_of):
    path = "tests/test_basket.py"
    changed = (
        "import basket\n\n\ndef test_the_cheapest_is_found():\n    assert basket.total([7]) == 7\n"
    )
    facts = facts_of(hidden={path: changed}, listed=[f"{path}::test_the_cheapest_is_found"])
    assert lines_of(task_rules.visible_tests(facts)) == []


@pytest.mark.parametrize(
    "quoted", [ADDED, "".join(f"> + {line.strip()}\n" for line in ADDED.splitlines())]
)
def test_fix_quoted_in_instruction_is_a_warning(facts_of, quoted):
    facts = facts_of(fix={"basket.py": LONG_FIX}, instruction=f"Do this:\n\n{quoted}")
    assert lines_of(task_rules.solution_in_instruction(facts)) == [
        "warning instruction.md:3: contains 3 of 6 distinctive lines of the fix"
    ]


def test_quoted_code_of_base_is_no_finding(facts_of):
    facts = facts_of(fix={"basket.py": LONG_FIX}, instruction=f"Look:\n{BUGGY}")
    assert lines_of(task_rules.solution_in_instruction(facts)) == []


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("basket.py.orig", "a backup copy"),
        ("basket.py~", "a backup copy"),
        ("build/lib/basket.py", "a build's output"),
    ],
)
def test_fix_in_leftover_file_is_a_warning(facts_of, path, what):
    facts = facts_of(base={path: COPY}, fix={"basket.py": LONG_FIX})
    assert lines_of(task_rules.solution_in_base(facts)) == [
        f"warning {path}:4: {what} with 6 of 6 distinctive lines of the fix"
    ]


def test_fix_in_patch_file_is_a_warning(facts_of):
    patch = patch_of("basket.py", BUGGY, LONG_FIX)
    facts = facts_of(base={"debian/fix.patch": patch}, fix={"basket.py": LONG_FIX})
    assert lines_of(task_rules.solution_in_base(facts)) == [
        "warning debian/fix.patch:6: a patch with 6 of 6 distinctive lines of the fix"
    ]


def test_same_code_in_another_module_is_info(facts_of):
    facts = facts_of(base={"other.py": COPY}, fix={"basket.py": LONG_FIX})
    (line,) = lines_of(task_rules.solution_in_base(facts))
    assert line.startswith("info other.py:4: another file with 6 of 6")


def test_one_line_of_long_fix_in_another_module_is_no_finding(facts_of):
    part = "    part_{0} = sum(int(price) for price in prices if price is not None) + {0}\n"
    long = "".join(part.format(n) for n in range(9))
    fix = LONG_FIX.replace("    return checked\n", f"{long}    return checked\n")
    other = f"def f(prices):\n{ADDED.splitlines()[0]}\n"
    facts = facts_of(base={"other.py": other, "other.rej": other}, fix={"basket.py": fix})
    (line,) = lines_of(task_rules.solution_in_base(facts))
    assert line.startswith("warning other.rej:2: a patch with 1 of ")


def test_lines_of_many_files_are_no_finding(facts_of):
    copies = {f"module_{n}.py": COPY for n in range(4)}
    facts = facts_of(base=copies, fix={"basket.py": LONG_FIX})
    assert lines_of(task_rules.solution_in_base(facts)) == []


def test_moved_code_is_no_finding(facts_of):
    facts = facts_of(base={"old.py": LONG_FIX}, fix={"old.py": "x = 1\n", "basket.py": LONG_FIX})
    assert lines_of(task_rules.solution_in_base(facts)) == []


NAMED = {"pyproject.toml": '[project]\nname = "Price_Basket"\n'}


@pytest.mark.parametrize(
    "path",
    ["basket.pyc", "lib/basket.cpython-311.pyc", "dist/price_basket-2.0-py3-none-any.whl",
     "price-basket-2.0.tar.gz", "vendor/price.basket-2.0.zip", "price_basket-1.0-py3.11.egg/x.py"],
)  # fmt: skip
def test_build_of_project_is_a_warning(facts_of, path):
    facts = facts_of(base={**NAMED, path: b"\x00\x01"})
    assert lines_of(task_rules.built_copies_in_base(facts)) == [
        f"warning {path}: may contain the fix: built from an unknown state"
    ]


@pytest.mark.parametrize(
    "path", ["other.pyc", "tests/data/six-1.0-py3-none-any.whl", "data-2024.zip", "basket.zip"]
)
def test_other_builds_are_no_finding(facts_of, path):
    assert lines_of(task_rules.built_copies_in_base(facts_of(base={**NAMED, path: b"\x00"}))) == []


def test_any_build_is_a_warning_without_name_and_fix(facts_of):
    facts = facts_of(base={"x.pyc": b"\x00", "six-1.0-py3-none-any.whl": b"\x00"}, fix={})
    assert len(lines_of(task_rules.built_copies_in_base(facts))) == 2


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"old.bundle": b"# v2 git bundle\n\x00"}, "old.bundle"),
        ({"x/pack-1.pack": b"PACK\x00\x00"}, "x/pack-1.pack"),
        ({"up.pack": b"PACK" + b"\x00" * 3_000_000}, "up.pack"),
        (
            {"up.git/HEAD": "ref: x", "up.git/objects/00/1": b"\x00", "up.git/refs/heads/m": "0"},
            "up.git",
        ),
    ],
)
def test_repository_in_base_is_a_warning(facts_of, files, where):
    (line,) = lines_of(task_rules.history_in_base(facts_of(base=files)))
    assert line.startswith(f"warning {where}: a ")
    assert line.endswith(": its history may contain the fix")


@pytest.mark.parametrize(
    "files",
    [{"app.bundle": b"var x = 1"}, {"icons.pack": b"\x00\x01"}, {"HEAD": "of the table"}],
)
def test_files_with_names_like_repositories_are_no_finding(facts_of, files):
    assert lines_of(task_rules.history_in_base(facts_of(base=files))) == []


def test_nested_git_folder_is_not_in_base(facts_of):
    facts = facts_of(base={"vendor/.git/HEAD": "ref: x", "vendor/.git/objects/1": b"\x00"})
    assert not any(".git" in path.parts for path in facts.base.blobs)


def test_hidden_test_named_in_instruction_is_a_warning(facts_of):
    facts = facts_of(instruction="Make test_every_price_counts pass.\n")
    assert lines_of(task_rules.tests_in_instruction(facts)) == [
        "warning instruction.md: names the hidden test test_every_price_counts"
    ]


def test_name_known_in_base_is_no_finding(facts_of):
    facts = facts_of(
        base={"TODO": "write test_every_price_counts"}, instruction="test_every_price_counts\n"
    )
    assert lines_of(task_rules.tests_in_instruction(facts)) == []


def test_quoted_assertions_are_counted(facts_of):
    facts = facts_of(instruction="It should hold that assert basket.total([1, 2, 3])\n  == 6.\n")
    assert lines_of(task_rules.tests_in_instruction(facts)) == [
        "warning instruction.md: quotes 1 of 2 assertions of the hidden tests: "
        "assert basket.total([1, 2, 3]) == 6"
    ]


def test_one_example_among_many_assertions_is_info(facts_of):
    many = HIDDEN + "".join(f"    assert basket.total([{n}, 100]) == {n + 100}\n" for n in range(9))
    facts = facts_of(
        hidden={"tests/test_hidden.py": many},
        instruction="assert basket.total([1, 2, 3]) == 6 fails\n",
    )
    (line,) = lines_of(task_rules.tests_in_instruction(facts))
    assert line.startswith("info instruction.md: quotes 1 of 11 assertions")


def test_assertions_of_unittest_are_read(facts_of):
    cases = (
        "import unittest\nimport basket\n\n\nclass TestIt(unittest.TestCase):\n"
        "    def test_total(self):\n"
        "        self.assertEqual(basket.total(['ä', 2]),\n                         3)\n"
    )
    facts = facts_of(
        hidden={"tests/test_it.py": cases}, listed=["tests/test_it.py::TestIt::test_total"]
    )
    (file,) = facts.deciding_files
    assert list(task_rules.assertions(file)) == ["self.assertEqual(basket.total(['ä', 2]), 3)"]


def test_short_fix_is_found_with_its_context(facts_of):
    facts = facts_of(base={"basket.py.bak": f"# old\n{FIXED}"}, instruction=FIXED)
    for found in (task_rules.solution_in_base(facts), task_rules.solution_in_instruction(facts)):
        (line,) = lines_of(found)
        assert line.startswith("warning ")
        assert "distinctive lines of the fix" in line


def test_short_fix_without_context_is_no_finding(facts_of):
    line = "    return sum(prices)\n"
    facts = facts_of(base={"other.py": f"def f(prices):\n{line}"}, instruction=line)
    assert lines_of(task_rules.solution_in_base(facts)) == []
    assert lines_of(task_rules.solution_in_instruction(facts)) == []


def test_copy_of_fixed_file_is_a_warning(facts_of):
    facts = facts_of(base={"old/basket.txt": FIXED})
    assert lines_of(task_rules.solution_in_base(facts)) == [
        "warning old/basket.txt: has the content of basket.py after the fix"
    ]


def test_renamed_file_is_no_copy(facts_of):
    facts = facts_of(base={"shop.py": FIXED}, fix={"basket.py": FIXED, "shop.py": "x = 1\n"})
    assert lines_of(task_rules.solution_in_base(facts)) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python3 -m pip -q install 'a>=1' b==2", [InstallTarget(name=n) for n in "ab"]),
        ("pip install a[x,y]==1", [InstallTarget(name="a")]),
        ("pip install -e '.[test]' .", []),
        ("pip install /x/y ~/z dist/a-1.whl 'a", []),
        ("pip install -r a -rb --requirement=c", [InstallTarget(file=n) for n in "abc"]),
        ("pip install -i x --find-links=y a", [InstallTarget(name="a")]),
        ("pip install -e git+https://h/a", [InstallTarget(url="git+https://h/a")]),
        (
            "pip install a&&pip install b;(pip install c)|tee x\npip install d",
            [InstallTarget(name=n) for n in "abcd"],
        ),
        ("pip download a; npm install a; pip install", []),
    ],
)
def test_installs_of_command(command, expected):
    assert list(installs_of(command)) == expected


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
def test_install_of_project_from_index_is_a_warning(facts_of, command):
    files = {**NAMED, "requirements.txt": "# ours\npytest==8.0\nprice_basket >= 1 ; x\n"}
    (line,) = lines_of(
        task_rules.fixed_release_installed(facts_of(base=files, tables=setup(command)))
    )
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
def test_other_installs_are_no_finding(facts_of, command):
    tables = setup(command) if command else ""
    assert lines_of(task_rules.fixed_release_installed(facts_of(base=NAMED, tables=tables))) == []


def test_install_without_network_is_no_finding(facts_of):
    tables = setup("pip install price-basket", more="network = false")
    assert lines_of(task_rules.fixed_release_installed(facts_of(base=NAMED, tables=tables))) == []


@pytest.mark.parametrize(
    "command",
    [
        "pip install git+https://example.org/shop/price-basket.git@main",
        "pip install 'price @ git+https://example.org/price_basket'",
        "git clone https://example.org/shop/price-basket /opt/x",
        "git remote add up https://example.org/shop/price-basket.git",
    ],
)
def test_install_from_origin_is_a_warning(facts_of, command):
    facts = facts_of(base=NAMED, tables=setup(command))
    (line,) = lines_of(task_rules.fixed_release_installed(facts))
    assert line.startswith("warning task.toml: setup.commands[0]: ")


def test_dockerfile_is_read(facts_of, tmp_path):
    (tmp_path / "small" / "environment").mkdir(parents=True)
    (tmp_path / "small" / "environment" / "Dockerfile").write_text(
        "FROM python:3.12\n"
        + "\n" * 500_000
        + "RUN apt-get update && \\\n    pip install price-basket\n"
    )
    tables = '[environment]\ndockerfile = "environment/Dockerfile"\n'
    (line,) = lines_of(task_rules.fixed_release_installed(facts_of(base=NAMED, tables=tables)))
    assert line.startswith("warning Dockerfile: installs price-basket")


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
def test_secret_is_found_and_not_printed(facts_of, name, value):
    facts = facts_of(tables=f'[environment]\nenv = {{ {name} = "{value}" }}')
    (line,) = lines_of(task_rules.secrets_in_environment(facts))
    assert line.startswith(f"warning task.toml: environment.env.{name}: ")
    assert value not in line or value == "x"


@pytest.mark.parametrize(
    ("name", "value"),
    [("KEYBOARD", "x"), ("TOKENIZERS_PARALLELISM", "1"), ("API_KEY", ""), ("MONKEY", "1"),
     ("URL", "http://host:80/x@y")],
)  # fmt: skip
def test_other_variables_are_no_finding(facts_of, name, value):
    facts = facts_of(tables=f'[environment]\nenv = {{ {name} = "{value}" }}')
    assert lines_of(task_rules.secrets_in_environment(facts)) == []


def test_secret_in_command_is_a_warning(facts_of):
    facts = facts_of(tables=setup("pip install -f https://me:pw@host/links x==1"))
    assert lines_of(task_rules.secrets_in_environment(facts)) == [
        "warning task.toml: setup.commands[0]: contains text that looks like a secret"
    ]


def test_addresses_of_own_networks_are_a_warning(facts_of):
    tables = """[environment]
network = ["pypi.org", "127.0.0.1", "8.8.8.8", "10.0.0.0/8"]
[setup]
network = ["fd00::1"]
[agent]
network = true"""
    assert lines_of(task_rules.own_networks_listed(facts_of(tables=tables))) == [
        f"warning task.toml: {where}, which may be of this machine or of its networks"
        for where in (
            "setup.network: lists fd00::1",
            "environment.network: lists 127.0.0.1",
            "environment.network: lists 10.0.0.0/8",
        )
    ]


@pytest.fixture
def script_facts(tmp_path):
    def read(*arguments, **more):
        folder = write_script_task(tmp_path / "task", *arguments, **more)
        mirrors = Mirrors(tmp_path / "mirrors")
        return read_task_facts(load_task(folder, mirrors=mirrors), mirrors)

    return read


@pytest.mark.parametrize(
    ("user", "more"),
    [
        ("agent", ""),
        ("root", ", where the agent is root and can replace the programs of the script"),
    ],
)
def test_script_in_the_agents_container_is_an_info(script_facts, user, more):
    assert lines_of(task_rules.shared_verifiers(script_facts(user=user))) == [
        f"info task.toml: verifier.environment: judges in the agent's own container{more}"
    ]


def test_script_in_a_fresh_container_is_no_finding(script_facts):
    assert lines_of(task_rules.shared_verifiers(script_facts("separate"))) == []


def test_script_that_installs_when_it_judges_is_an_info(script_facts):
    text = "#!/bin/bash\n# don't\npip install -q pytest==8.4.1 \\\n  ctrf\ncurl -LO https://a.example/x.sh\n"
    files = {"tests/test.sh": text}
    assert lines_of(task_rules.verifier_installs(script_facts("hello", files))) == [
        "info tests/test.sh: the script of verifier installs or downloads when it judges: "
        "ctrf, curl https://a.example/x.sh, pytest"
    ]
    offline = script_facts("hello", files, verifier={"network": False})
    assert lines_of(task_rules.verifier_installs(offline)) == []
    local = {"tests/test.sh": "pip install --no-index x\ncurl http://localhost:80/health\n"}
    assert lines_of(task_rules.verifier_installs(script_facts("hello", local))) == []


@pytest.mark.parametrize(
    "copy",
    ["COPY . /app/", "COPY seen /app/", 'COPY ["seen/copy.sh", "/app/"]', "ADD ./seen/*.sh /"],
)
def test_answer_that_the_agents_image_copies_is_a_warning(script_facts, copy):
    files = {
        "environment/Dockerfile": f"FROM agentbench/python:3.11\n{copy}\n",
        "environment/seen/copy.sh": TEST,
    }
    assert lines_of(task_rules.answers_in_image(script_facts("hello", files))) == [
        "warning environment/seen/copy.sh: is copied into the agent's image and has the content "
        "of tests/test.sh"
    ]
    others = "FROM agentbench/python:3.11\nCOPY --from=x seen /app/\nCOPY notes.txt /app/\n"
    clean = script_facts("hello", {**files, "environment/Dockerfile": others})
    assert lines_of(task_rules.answers_in_image(clean)) == []


HIDDEN_PATH = "tests/test_hidden.py"


def hidden(source: str, *names: str) -> dict[str, object]:
    """A task whose hidden file is this, and whose listed tests are these."""
    return {"hidden": {HIDDEN_PATH: source}, "listed": [f"{HIDDEN_PATH}::{name}" for name in names]}


def test_test_without_expected_value_is_weakly_controlled(facts_of):
    source = HIDDEN + "\n\ndef test_it_runs():\n    basket.total([1])\n"
    facts = facts_of(**hidden(source, "test_every_price_counts", "test_it_runs"))
    (line,) = lines_of(task_rules.weakly_controlled(facts))
    assert line.startswith(
        f"warning {HIDDEN_PATH}::test_it_runs: weakly controlled: it compares with no"
    )
    assert line.endswith("1 of 2 fail_to_pass functions are controlled")


def test_undefined_test_is_weakly_controlled(facts_of):
    (line,) = lines_of(task_rules.weakly_controlled(facts_of(**hidden(HIDDEN, "TestBase::test_x"))))
    assert "the file does not define it; 0 of 1" in line


def test_ids_of_one_function_count_once(facts_of):
    source = (
        "import basket\nimport pytest\n\n\n@pytest.mark.parametrize('p', [[1], [2, 3]])\n"
        "def test_total(p):\n    assert basket.total(p) == sum(p)\n"
    )
    facts = facts_of(**hidden(source, "test_total[p0]", "test_total[p1]"))
    assert len(task_rules.controlled_functions(facts)) == 1


@pytest.mark.parametrize("source", ["def test_x(:\n", "import \x00\n", "# coding: none\nx = 'ä'\n"])
def test_hidden_file_that_is_not_python_is_weakly_controlled(facts_of, source):
    facts = facts_of(**hidden(source, "test_x"))
    (line,) = lines_of(task_rules.weakly_controlled(facts))
    assert line.startswith(f"warning {HIDDEN_PATH}::test_x: weakly controlled: ")


def test_files_too_large_to_be_read_are_counted(facts_of):
    facts = facts_of(base={"large.bin": b"\x00" * 3_000_000})
    assert lines_of(task_rules.not_read(facts)) == [
        "info the base tree: 1 files of the base tree are too large to be searched"
    ]
