"""Tests that a class inherits from a class in another file are found and sealed there."""

import pytest

from agentbench.integrity.control_plan import ControlledTests
from agentbench.integrity.sealing.canonical import Recording, of_python
from agentbench.integrity.sealing.inheritance import Inheritance, inherited_tests
from agentbench.integrity.sealing.memory import SealedReference
from agentbench.integrity.sealing.plan import SealedOutcome, SealedPlan
from agentbench.scoring.evidence import NodeId

BASE = """\
import pytest

class Cases:
    def test_parse(self):
        assert self.parse("a") == 61

    @pytest.mark.parametrize("text, code", [("b", 62), ("c", 63)])
    def test_code(self, text, code):
        assert self.parse(text) == code

    def test_again(self):
        assert self.parse("a") == 61
"""
OWN = """\
from .cases import Cases

class TestShop(Cases):
    def parse(self, text):
        assert text > 77
        return 1

    def test_again(self):
        super().test_again()
"""
NAMES = ("test_parse", "test_code[b-62]", "test_code[c-63]", "test_again")
TESTS = tuple(NodeId(f"tests/test_shop.py::TestShop::{name}") for name in NAMES)
FILES = {"tests/test_shop.py": OWN, "tests/cases.py": BASE}
ALONE = "class TestShop:\n    def test_parse(self):\n        assert 1\n"


def found(files: dict[str, str], tests: tuple[NodeId, ...] = TESTS[:1]) -> Inheritance:
    return inherited_tests(tests, {name: text.encode() for name, text in files.items()}.get)


def test_file_of_a_base_class_is_found_with_the_ids_there():
    inherited = found(FILES, TESTS)
    assert set(inherited.files) == {"tests/cases.py"}
    assert inherited.origins == {
        test: f"tests/cases.py::Cases::{name}" for test, name in zip(TESTS[:3], NAMES, strict=False)
    }


@pytest.mark.parametrize(
    ("own", "place"),
    [
        ("from tests.cases import Cases as Base\nclass TestShop(Base): pass\n", "tests/cases.py"),
        ("from . import cases\nclass TestShop(object, cases.Cases): pass\n", "tests/cases.py"),
        ("from ..cases import Cases\nclass TestShop(Cases): pass\n", "cases.py"),
        ("from cases import Cases\nclass TestShop(Cases): pass\n", "tests/cases.py"),
        ("from .cases import Cases\nclass TestShop(A): pass\nclass A(Cases): 0", "tests/cases.py"),
        ("from .cases import Cases\nclass TestShop(Cases): pass\n", "tests/cases/__init__.py"),
    ],
)  # fmt: skip
def test_every_form_of_an_import_leads_to_the_file(own, place):
    assert set(found({"tests/test_shop.py": own, place: BASE}).files) == {place}


@pytest.mark.parametrize(
    "files",
    [
        {"tests/test_shop.py": OWN},
        {"tests/test_shop.py": OWN, "tests/cases.py": "class Cases(Cases):"},
        {"tests/test_shop.py": OWN, "tests/cases.py": "class Cases: pass"},
        {"tests/test_shop.py": OWN, "tests/cases.py": OWN.replace("TestShop", "Cases")},
        {"tests/test_shop.py": ALONE},
        {},
    ],
    ids=["not written", "no Python", "without the test", "a circle", "its own", "no file"],
)
def test_missing_inherited_function_is_not_found(files):
    assert found(files) == Inheritance()


def plan() -> SealedPlan:
    own = {"tests/test_shop.py": OWN.encode()}
    tests = ControlledTests(files=own, fixed=TESTS[:3], passing=())
    return SealedPlan(tests, 1, SealedReference(), found(FILES, TESTS[:3]))


def outcome(site: int, *, value: object = 61) -> SealedOutcome:
    recorded = {TESTS[0]: (Recording(site, (of_python(value),)),)}
    return SealedOutcome(passed=frozenset(recorded), ended=frozenset(recorded), recordings=recorded)


def test_file_of_a_base_class_loses_its_values_and_keeps_the_names_that_others_use():
    planned = plan()
    sealed = planned.files["tests/cases.py"].decode()
    assert not any(number in sealed for number in ("61", "62", "63"))
    assert "class Cases:" in sealed
    assert "def test_again" in sealed  # a subclass calls it
    assert "test_parse" not in sealed
    new = {test: planned.renamed[test] for test in TESTS[:3]}
    assert len({name.rpartition("::")[0] for name in new.values()}) == 1
    for name in new.values():
        assert f"def {name.rpartition('::')[2].partition('[')[0]}(" in sealed
    assert not any("62" in name or "parse" in name for name in new.values())


def test_value_of_an_inherited_test_is_judged_by_the_assertion_of_the_other_file():
    (number,) = (n for n in plan()._sealed["tests/cases.py"].sites if n < 2)
    assert plan().judge(outcome(number), SealedReference()).sealed == {TESTS[0]}
    (mismatch, *_) = plan().judge(outcome(number, value=60), SealedReference()).mismatches
    assert (mismatch.node_id, mismatch.line, mismatch.expected) == (TESTS[0], 5, "61")


def test_assertions_of_both_files_have_different_numbers():
    numbers = [set(sealed.sites) for sealed in plan()._sealed.values()]
    assert numbers[0]
    assert numbers[1]
    assert numbers[0].isdisjoint(numbers[1])
