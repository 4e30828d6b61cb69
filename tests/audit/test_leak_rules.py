import pytest

from agentbench.audit import leak_rules
from tests.audit.conftest import told
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


RULES = (
    leak_rules.hidden_tests_in_base,
    leak_rules.visible_tests,
    leak_rules.solution_in_instruction,
    leak_rules.solution_in_base,
    leak_rules.solution_named_in_base,
    leak_rules.built_copies_in_base,
    leak_rules.history_in_base,
    leak_rules.tests_in_instruction,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_ordinary_task_leaks_nothing(facts_of, rule):
    assert told(rule(facts_of(fix={"basket.py": LONG_FIX}))) == []


def test_a_copy_of_the_hidden_tests_in_the_base_is_found_wherever_it_lies(facts_of):
    facts = facts_of(base={"docs/examples/old.txt": HIDDEN})
    assert told(leak_rules.hidden_tests_in_base(facts)) == [
        "warning docs/examples/old.txt: has the content of the hidden tests/test_hidden.py"
    ]


def test_a_hidden_file_without_tests_may_well_have_a_copy(facts_of):
    facts = facts_of(
        base={"tests/__init__.py": ""},
        hidden={"tests/test_hidden.py": HIDDEN, "tests/more/__init__.py": "\n"},
    )
    assert told(leak_rules.hidden_tests_in_base(facts)) == []


def test_fail_to_pass_tests_of_the_base_are_visible(facts_of):
    visible = "tests/test_basket.py::test_the_cheapest_is_found"
    facts = facts_of(listed=[*LISTED, visible])
    assert told(leak_rules.visible_tests(facts)) == [
        f"info {visible}: is unchanged in the base tree; an agent can read the deciding test"
    ]


def test_a_task_without_any_hidden_test_is_worth_a_warning(facts_of):
    visible = "tests/test_basket.py::test_the_cheapest_is_found"
    (line,) = told(leak_rules.visible_tests(facts_of(listed=[visible], hidden={})))
    assert line.startswith(f"warning {visible}: ")
    assert line.endswith("and no fail_to_pass test is hidden")


def test_a_function_that_the_hidden_tests_rewrite_is_not_visible(facts_of):
    path = "tests/test_basket.py"
    changed = (
        "import basket\n\n\ndef test_the_cheapest_is_found():\n    assert basket.total([7]) == 7\n"
    )
    facts = facts_of(hidden={path: changed}, listed=[f"{path}::test_the_cheapest_is_found"])
    assert told(leak_rules.visible_tests(facts)) == []


@pytest.mark.parametrize(
    "quoted", [ADDED, "".join(f"> + {line.strip()}\n" for line in ADDED.splitlines())]
)
def test_a_fix_quoted_in_the_instruction_is_found(facts_of, quoted):
    facts = facts_of(fix={"basket.py": LONG_FIX}, instruction=f"Do this:\n\n{quoted}")
    assert told(leak_rules.solution_in_instruction(facts)) == [
        "warning instruction.md:3: contains 3 of 6 distinctive lines of the fix"
    ]


def test_code_of_the_base_may_be_quoted(facts_of):
    facts = facts_of(fix={"basket.py": LONG_FIX}, instruction=f"Look:\n{BUGGY}")
    assert told(leak_rules.solution_in_instruction(facts)) == []


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("basket.py.orig", "a backup copy"),
        ("basket.py~", "a backup copy"),
        ("build/lib/basket.py", "a build's output"),
    ],
)
def test_a_fix_left_behind_in_the_base_is_a_warning(facts_of, path, what):
    facts = facts_of(base={path: COPY}, fix={"basket.py": LONG_FIX})
    assert told(leak_rules.solution_in_base(facts)) == [
        f"warning {path}:4: {what} with 6 of 6 distinctive lines of the fix"
    ]


def test_a_fix_in_a_patch_of_the_base_is_a_warning(facts_of):
    patch = patch_of("basket.py", BUGGY, LONG_FIX)
    facts = facts_of(base={"debian/fix.patch": patch}, fix={"basket.py": LONG_FIX})
    assert told(leak_rules.solution_in_base(facts)) == [
        "warning debian/fix.patch:6: a patch with 6 of 6 distinctive lines of the fix"
    ]


def test_the_same_code_in_another_module_is_information(facts_of):
    facts = facts_of(base={"other.py": COPY}, fix={"basket.py": LONG_FIX})
    (line,) = told(leak_rules.solution_in_base(facts))
    assert line.startswith("info other.py:4: another file with 6 of 6")


def test_one_line_of_a_long_fix_may_stand_in_another_module(facts_of):
    part = "    part_{0} = sum(int(price) for price in prices if price is not None) + {0}\n"
    long = "".join(part.format(n) for n in range(9))
    fix = LONG_FIX.replace("    return checked\n", f"{long}    return checked\n")
    other = f"def f(prices):\n{ADDED.splitlines()[0]}\n"
    facts = facts_of(base={"other.py": other, "other.rej": other}, fix={"basket.py": fix})
    (line,) = told(leak_rules.solution_in_base(facts))
    assert line.startswith("warning other.rej:2: a patch with 1 of ")


def test_lines_that_many_files_have_are_how_a_project_is_written(facts_of):
    copies = {f"module_{n}.py": COPY for n in range(4)}
    facts = facts_of(base=copies, fix={"basket.py": LONG_FIX})
    assert told(leak_rules.solution_in_base(facts)) == []


def test_code_that_the_fix_moves_from_a_file_it_changes_is_no_leak(facts_of):
    facts = facts_of(base={"old.py": LONG_FIX}, fix={"old.py": "x = 1\n", "basket.py": LONG_FIX})
    assert told(leak_rules.solution_in_base(facts)) == []


def test_a_changelog_that_names_what_only_the_fix_brings_in_is_found(facts_of):
    facts = facts_of(
        base={"CHANGES.rst": "- totals use subtotal_of_prices now\n"}, fix={"basket.py": LONG_FIX}
    )
    assert told(leak_rules.solution_named_in_base(facts)) == [
        "info CHANGES.rst: names what only the fix introduces: subtotal_of_prices"
    ]


def test_a_changelog_may_name_what_the_base_has(facts_of):
    facts = facts_of(
        base={"CHANGES.rst": "subtotal_of_prices\n", "api.py": "subtotal_of_prices = 1\n"},
        fix={"basket.py": LONG_FIX},
    )
    assert told(leak_rules.solution_named_in_base(facts)) == []


NAMED = {"pyproject.toml": '[project]\nname = "Price_Basket"\n'}


@pytest.mark.parametrize(
    "path",
    ["basket.pyc", "lib/basket.cpython-311.pyc", "dist/price_basket-2.0-py3-none-any.whl",
     "price-basket-2.0.tar.gz", "vendor/price.basket-2.0.zip", "price_basket-1.0-py3.11.egg/x.py"],
)  # fmt: skip
def test_what_was_built_from_the_project_may_hold_the_fix(facts_of, path):
    facts = facts_of(base={**NAMED, path: b"\x00\x01"})
    assert told(leak_rules.built_copies_in_base(facts)) == [
        f"warning {path}: may contain the fix: built from an unknown state"
    ]


@pytest.mark.parametrize(
    "path", ["other.pyc", "tests/data/six-1.0-py3-none-any.whl", "data-2024.zip", "basket.zip"]
)
def test_what_was_built_from_something_else_does_not(facts_of, path):
    assert told(leak_rules.built_copies_in_base(facts_of(base={**NAMED, path: b"\x00"}))) == []


def test_without_a_name_and_a_fix_anything_built_may_hold_it(facts_of):
    facts = facts_of(base={"x.pyc": b"\x00", "six-1.0-py3-none-any.whl": b"\x00"}, fix={})
    assert len(told(leak_rules.built_copies_in_base(facts))) == 2


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
def test_a_repository_among_the_files_brings_history(facts_of, files, where):
    (line,) = told(leak_rules.history_in_base(facts_of(base=files)))
    assert line.startswith(f"warning {where}: a ")
    assert line.endswith(": its history may contain the fix")


@pytest.mark.parametrize(
    "files",
    [{"app.bundle": b"var x = 1"}, {"icons.pack": b"\x00\x01"}, {"HEAD": "of the table"}],
)
def test_other_files_of_such_names_do_not(facts_of, files):
    assert told(leak_rules.history_in_base(facts_of(base=files))) == []


def test_a_nested_repository_never_gets_into_the_base(facts_of):
    facts = facts_of(base={"vendor/.git/HEAD": "ref: x", "vendor/.git/objects/1": b"\x00"})
    assert not any(".git" in path.parts for path in facts.base.blobs)


def test_an_instruction_that_names_a_hidden_test_is_found(facts_of):
    facts = facts_of(instruction="Make test_every_price_counts pass.\n")
    assert told(leak_rules.tests_in_instruction(facts)) == [
        "warning instruction.md: names the hidden test test_every_price_counts"
    ]


def test_an_instruction_may_name_what_the_base_names(facts_of):
    facts = facts_of(
        base={"TODO": "write test_every_price_counts"}, instruction="test_every_price_counts\n"
    )
    assert told(leak_rules.tests_in_instruction(facts)) == []


def test_assertions_told_in_the_instruction_are_counted(facts_of):
    facts = facts_of(instruction="It should hold that assert basket.total([1, 2, 3])\n  == 6.\n")
    assert told(leak_rules.tests_in_instruction(facts)) == [
        "warning instruction.md: quotes 1 of 2 assertions of the hidden tests: "
        "assert basket.total([1, 2, 3]) == 6"
    ]


def test_one_example_among_many_assertions_is_information(facts_of):
    many = HIDDEN + "".join(f"    assert basket.total([{n}, 100]) == {n + 100}\n" for n in range(9))
    facts = facts_of(
        hidden={"tests/test_hidden.py": many},
        instruction="assert basket.total([1, 2, 3]) == 6 fails\n",
    )
    (line,) = told(leak_rules.tests_in_instruction(facts))
    assert line.startswith("info instruction.md: quotes 1 of 11 assertions")


def test_assertions_by_call_and_over_lines_are_read_as_they_are_written(facts_of):
    cases = (
        "import unittest\nimport basket\n\n\nclass TestIt(unittest.TestCase):\n"
        "    def test_total(self):\n"
        "        self.assertEqual(basket.total(['ä', 2]),\n                         3)\n"
    )
    facts = facts_of(
        hidden={"tests/test_it.py": cases}, listed=["tests/test_it.py::TestIt::test_total"]
    )
    (file,) = facts.deciding_files
    assert list(leak_rules.assertions(file)) == ["self.assertEqual(basket.total(['ä', 2]), 3)"]


def test_a_fix_of_one_short_line_is_told_by_where_it_stands(facts_of):
    facts = facts_of(base={"basket.py.bak": f"# old\n{FIXED}"}, instruction=FIXED)
    for seen in (leak_rules.solution_in_base(facts), leak_rules.solution_in_instruction(facts)):
        (line,) = told(seen)
        assert line.startswith("warning ")
        assert "distinctive lines of the fix" in line


def test_that_line_alone_tells_nothing(facts_of):
    line = "    return sum(prices)\n"
    facts = facts_of(base={"other.py": f"def f(prices):\n{line}"}, instruction=line)
    assert told(leak_rules.solution_in_base(facts)) == []
    assert told(leak_rules.solution_in_instruction(facts)) == []


def test_a_copy_of_a_fixed_file_is_found_by_its_content(facts_of):
    facts = facts_of(base={"old/basket.txt": FIXED})
    assert told(leak_rules.solution_in_base(facts)) == [
        "warning old/basket.txt: has the content of basket.py after the fix"
    ]


def test_a_file_that_the_fix_renames_is_no_copy(facts_of):
    facts = facts_of(base={"shop.py": FIXED}, fix={"basket.py": FIXED, "shop.py": "x = 1\n"})
    assert told(leak_rules.solution_in_base(facts)) == []
