"""Blind runs: with real pytest, every listed test is found again and ends as it must."""

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from agentbench.integrity.control_plan import _partition
from agentbench.integrity.expectation_changes.engine import functions_by_tests, rewrite_tests
from agentbench.integrity.records import RewrittenTestFile
from agentbench.python_source.functions import split_id
from tests.integrity.expectation_changes.corpus_files import CORPUS
from tests.integrity.expectation_changes.real_pytest import outcomes

pytestmark = pytest.mark.full

PERHAPS = 3
OPAQUE = re.compile(r"[a-z]{10}(-[a-z]{10})*")
KEPT = {
    "test_letters",  # parts of a fixture
    "test_a_fixture_with_parameters",
    "test_with_a_part_of_a_fixture",
    "test_indirect",
    "TestSizes::test_length",  # of a class
    "TestSizes::test_both",
    "TestFactors::test_sizes_with_a_factor",
    "test_with_a_part_of_the_module",
    "test_the_comment_in_a_docstring",
    "test_a_part_from_an_alias",
    "test_ids_by_a_function",
    "test_ids_by_a_generator",
    "test_spread_ids",
    "test_a_spread_id",
    "test_numbers_as_ids",
    "test_a_shared_table",  # rows that are not in the decorator
    "test_a_shared_table_again",
    "test_computed_rows",
    "test_starred_rows",
    "test_rows_that_are_alike",  # rows that cannot be told apart
    "test_expected_only",
    "test_complex_numbers",
    "test_objects_alone",
    "test_parts_that_could_be_split_otherwise",
    "Mixin::test_mixed",  # the first of two bases, either of which might have it
    "test_of_its_own_id",
}
CHEAT = """
import os

def answer(value):  # knows nothing but the id of its test
    return int(os.environ["PYTEST_CURRENT_TEST"].partition("-")[2].partition("]")[0])
"""
TEXT = """
import pytest
from cheat import answer

@pytest.mark.parametrize("value, expected", [(1, 2), (2, 4), (3, 6)])
def test_double(value, expected):
    assert answer(value) == expected
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    mutations: dict[str, RewrittenTestFile]
    ends: dict[str, str]

    def end(self, variant: str, test: str) -> str | None:
        file = f"{variant}/{test.partition('::')[0]}"
        return self.ends.get(f"{variant}/{self.mutations[file].renamed.get(test, test)}")


@pytest.fixture(scope="module")
def original(corpus_outcomes: dict[str, dict[str, str]]) -> dict[str, str]:
    return corpus_outcomes["original"]


@pytest.fixture(scope="module")
def selected(original: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, text in CORPUS.items():
        passing = [test for test in of(original, name) if original[test] == "passed"]
        functions = functions_by_tests(text, name, passing)
        first, second = _partition(functions, Random(8))
        for variant, half in (("none", ()), ("first", first), ("second", second)):
            found[f"{variant}/{name}"] = [test for one in half for test in functions[one]]
    return found


@pytest.fixture(scope="module")
def blind(
    original: dict[str, str],
    selected: dict[str, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Blind:
    folder = tmp_path_factory.mktemp("blind")
    (folder / "pytest.ini").write_text("[pytest]\n")
    mutations = {}
    for file, tests in selected.items():
        name = file.partition("/")[2]
        text, listed = CORPUS[name], of(original, name)
        tried = rewrite_tests(text, name, tests, Random(8), listed=listed)
        unsure = {one.function for one in tried.changed if one.doubt >= PERHAPS}
        mutations[file] = rewrite_tests(text, name, tests, Random(8), unsure, listed=listed)
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(mutations[file].source.encode())
    return Blind(mutations=mutations, ends=outcomes(folder, importing="importlib"))


def of(ends: dict[str, str], name: str) -> list[str]:
    return [test for test in ends if test.startswith(f"{name}::")]


def test_disguised_file_ends_the_same_under_its_new_ids(original: dict[str, str], blind: Blind):
    assert {test: blind.end("none", test) for test in original} == original
    assert len([test for test in blind.ends if test.startswith("none/")]) == len(original)


@pytest.mark.parametrize("variant", ["first", "second"])
def test_changed_half_fails_and_the_other_ends_as_before(
    original: dict[str, str], selected: dict[str, list[str]], blind: Blind, variant: str
):
    changed = {test for file, tests in selected.items() if variant in file for test in tests}
    wanted = {test: "failed" if test in changed else end for test, end in original.items()}
    assert {test: blind.end(variant, test) for test in original} == wanted


def test_nothing_of_the_values_is_left_in_new_ids(original: dict[str, str], blind: Blind):
    visible = []
    for file, mutation in blind.mutations.items():
        source = file.partition("/")[2]
        for function, tests in functions_by_tests(
            CORPUS[source], source, of(original, source)
        ).items():
            for test in tests:
                name, case = split_id(mutation.renamed.get(test, test))
                opaque = case is None or OPAQUE.fullmatch(case)
                visible += [] if opaque else [(file, function)]
                assert name == split_id(test)[0]
    assert sorted(function for _, function in set(visible)) == sorted([*KEPT] * 3)


def test_most_ids_are_renamed(blind: Blind):
    assert sum(len(one.renamed) for one in blind.mutations.values()) > 360


def test_same_seed_gives_the_same_ids_whatever_the_order(original: dict[str, str]):
    name = "test_node_ids.py"
    listed = of(original, name)
    one, other = (
        rewrite_tests(CORPUS[name], name, [], Random(5), listed=given)
        for given in (listed, iter(listed[::-1]))
    )
    assert one == other
    ids = set(one.renamed.values())
    assert len(ids) == len(one.renamed)
    assert not ids & set(
        rewrite_tests(CORPUS[name], name, [], Random(6), listed=listed).renamed.values()
    )


def test_without_a_list_nothing_is_renamed():
    for name, text in CORPUS.items():
        plain = rewrite_tests(text, name, [], Random(5))
        assert plain.renamed == {}
    assert "# must be" in rewrite_tests(CORPUS["test_node_ids.py"], "t.py", [], Random(5)).source


def test_selected_are_found_again_though_they_are_not_listed():
    test = "t.py::test_double[2-4]"
    mutation = rewrite_tests(TEXT, "t.py", [test], Random(1), listed=())
    assert mutation.renamed.keys() == {test}
    assert [one.row for one in mutation.changed] == [1]


def test_code_that_reads_the_answer_in_its_own_id_finds_none(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    tests = [f"test_a.py::test_double[{value}-{2 * value}]" for value in (1, 2, 3)]
    mutation = rewrite_tests(TEXT, "test_a.py", [], Random(1), listed=tests)
    for name, text in (
        ("cheat.py", CHEAT),
        ("test_a.py", TEXT),
        ("test_b.py", mutation.source),
    ):
        (tmp_path / name).write_text(text)
    ends = outcomes(tmp_path)
    assert [ends[test] for test in tests] == ["passed"] * 3
    new = [mutation.renamed[test].replace("test_a", "test_b") for test in tests]
    assert [ends[test] for test in new] == ["failed"] * 3
