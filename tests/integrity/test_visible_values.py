import re
from random import Random
from textwrap import dedent

import pytest

from agentbench.integrity.control_plan import ControlledTests, ControlPlan, KnownFunctions
from agentbench.integrity.records import VisibleValue
from agentbench.integrity.visible_values import change_visible
from agentbench.scoring.evidence import NodeId


def changed(source: str, value: str | float | None, *, line: int = 4, **data: str) -> str | None:
    texts = {"t.py": dedent(source), **data}
    visible = VisibleValue(reason=f"line {line}: it stays", value=value)
    found = change_visible("t.py", "test_it", visible, texts, Random(1))
    if found is None:
        return None
    assert found.change.line == line
    new = {**texts, **found.files}
    compile(new["t.py"], "t.py", "exec")
    differing = [line for name in new for line in _differing(texts[name], new[name])]
    return "; ".join(differing).replace(found.change.replacement.strip("'"), "NEW")


def _differing(old: str, new: str) -> list[str]:
    pairs = zip(old.splitlines(), new.splitlines(), strict=True)
    return [after.strip() for before, after in pairs if before != after]


@pytest.mark.parametrize(
    ("statement", "value", "new"),
    [
        ("assert eq(f(1), 8001)", 8001, "assert eq(f(1), NEW)"),
        ("assert [f(1), 8001] == [8001, 8001]", 8001, "assert [f(1), NEW] == [NEW, NEW]"),
        ("assert f(1).split('8001')", "8001", "assert f(1).split('NEW')"),
        ("assert f(1).find(b'a 8001 b') == 1", "8001", "assert f(1).find(b'a NEW b') == 1"),
        ("assert f(1) == f'8001 {x}'", "8001", "assert f(1) == f'NEW {x}'"),
        ("assert f(18001) == g(8001.5)", 8001, None),
        ("assert eq(f(1), rb'rb')", "rb", "assert eq(f(1), b'NEW')"),
        ("if f(1) != b'': fail()", None, None),
        ("if f(1) != ', ': fail()", None, None),
        ("assert f(1) == (8001, '8001')", 8001, "assert f(1) == (NEW, '8001')"),
        ("if f(1) != 8001: fail()", None, "if f(1) != NEW: fail()"),
        ("assert g(8001)[8002]", None, None),
        ("assert abs(f(1)) <= 8001", None, None),
        ("assert 'no 8001' in f(1) or 'none' in f(1)", "no 8001", None),
        ("assert any(f(1) == x for x in (8001, 8002))", 8001, None),
        ("assert f(1) in (8001, 8002)", 8001, None),
        ("with f(1) as g: pass\n    assert g == 8001 or g == 8002", 8001, None),
        ("if f(1) not in CHOICES: fail()\n    CHOICES = (8001, 8002)", 8001, None),
        (
            "assert eq(day('on 2026-01-11'), '2026-01-11')",
            "2026-01-11",
            "assert eq(day('on 2026-01-11'), 'NEW')",
        ),
    ],
)
def test_visible_value_is_changed(statement, value, new):
    assert changed(f"import t\n\ndef test_it():\n    {statement}\n", value) == new


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ('"""\n8001\n"""', '"""\nNEW\n"""'),
        ('("80"\n    "01")', "('NEW'\\\n)"),
        (r"'\x38001'", "'NEW'"),
    ],
)
def test_changed_text_keeps_its_lines(text, new):
    source = f"def test_it():\n    assert eq(f(1), {text})\n"
    visible = VisibleValue(reason="line 2", value="8001")
    found = change_visible("t.py", "test_it", visible, {"t.py": source}, Random(3))
    assert found is not None
    assert found.files["t.py"].replace(found.change.replacement.strip("'"), "NEW") == (
        f"def test_it():\n    assert eq(f(1), {new})\n"
    )


def test_keyword_is_not_replaced_in_code():
    texts = {
        "t.py": "from h import eq\n\ndef test_it():\n    assert eq(f(1), 'return')\n",
        "h.py": "def eq(a, b):\n    return a == b\n",
    }
    visible = VisibleValue(reason="line 4: it stays", value="return")
    found = change_visible("t.py", "test_it", visible, texts, Random(1))
    assert found is not None
    assert set(found.files) == {"t.py"}


def test_value_of_a_name_is_changed_in_function_or_file():
    in_function = "def test_it():\n    want = 8001\n\n    assert eq(f(1), want)\n"
    assert changed(in_function + "\nOTHER = 8001\n", 8001) == "want = NEW"
    in_file = "WANT = 8001\n\ndef test_it():\n    assert eq(f(1), WANT)\n"
    assert changed(in_file, 8001) == "WANT = NEW"


def test_value_is_changed_in_function_and_data():
    source = "def test_it():\n    want = 8001\n\n    assert eq(f(1), 8001)\n"
    both = "want = NEW; assert eq(f(1), NEW); 1,NEW"
    assert changed(source, 8001, **{"data.csv": "1,8001\n"}) == both
    few = source.replace("8001", "12")
    assert changed(few, 12, **{"data.csv": "1,12\n"}) == "want = NEW; assert eq(f(1), NEW)"


@pytest.mark.parametrize(
    "statement", ["assert '8001' in f()", "assert re.search('8001', f())", "assertIn('8001', f())"]
)
def test_searched_text_becomes_an_unlikely_one(statement):
    for seed in range(20):
        visible = VisibleValue(reason="line 1", value="8001")
        found = change_visible("t.py", "", visible, {"t.py": statement}, Random(seed))
        assert found is not None
        assert re.search("[a-z]{6}", found.change.replacement)


@pytest.mark.parametrize("day", ["2026-01-11", "2026-12-29T23:59:50", "11 May 2026, 10:00"])
def test_date_stays_a_date(day):
    for seed in range(20):
        visible = VisibleValue(reason="line 1", value=day)
        found = change_visible("t.py", "", visible, {"t.py": f"eq(f(), {day!r})"}, Random(seed))
        assert found is not None
        new = found.change.replacement.strip("'")
        assert new[:-1] == day[:-1]
        assert new != day


def test_value_in_test_data_is_changed():
    source = "def test_it():\n    want = load()\n\n    assert f(1) == want\n"
    data = '{"other": 18001,\n"right": 8001}\n'
    assert changed(source, 8001, **{"data.json": data}) == '"right": NEW}'


def test_named_equality_changes_the_values_of_its_function():
    source = (
        "def test_it():\n    other = Box(1)\n    other.value = 8001\n    assert box.equals(other)\n"
    )
    assert changed(source, None) == "other.value = NEW"
    assert changed(source.replace("equals", "contains"), None) is None


FIXED = (NodeId("t.py::test_it"),)
SOURCE = b"def test_it():\n    assert f(1) == 61\n    assert eq(f(2), stored(2))\n"
VISIBLE = VisibleValue(reason="line 3: 8002 stays", value=8002)
IN_FILE = SOURCE.replace(b"stored(2)", b"8002")


def plan(
    source: bytes = SOURCE,
    *,
    data: bytes = b"\xff 2: 8002\n",
    visible: VisibleValue = VISIBLE,
    certain_only: bool = False,
) -> ControlPlan:
    tests = ControlledTests(
        files={"t.py": source},
        fixed=FIXED,
        passing=(),
        visible={FIXED[0]: visible},
        others={"data.txt": data, "other.txt": b"\xff\n"},
    )
    return ControlPlan(tests, 1, certain_only=certain_only)


def test_blind_run_changes_only_the_visible_value():
    half = plan().half(0 if plan().sides[0] else 1, KnownFunctions())
    (drawn,) = half.drawn
    assert (drawn.original, drawn.line) == ("8002", 3)
    assert half.must_fail == FIXED
    assert half.weakly_failing == frozenset()
    assert b"== (61)" in half.files["t.py"]
    assert half.files["data.txt"].startswith(b"\xff 2: ")
    assert half.must_pass == ()  # other tests may read the data
    assert half.files["data.txt"] != b"\xff 2: 8002\n"
    assert "other.txt" not in half.files


def test_changed_value_has_the_form_of_other_constants():
    drawn = plan(IN_FILE)
    text = drawn.half(0 if drawn.sides[0] else 1, KnownFunctions()).files["t.py"].decode()
    assert re.sub(r"\d+", "9", text) == (
        "def test_it():\n    assert f((9)) == (9)\n    assert eq(f((9)), (9))\n"
    )
    assert "8002" not in text


@pytest.mark.parametrize(
    "visible",
    [
        VisibleValue(reason="line 3: 8002 stays", value=8002),
        VisibleValue(reason="line 2: code of another file, or of a text, may compare a value"),
    ],
)
def test_unfound_visible_value_makes_a_test_weak(visible):
    drawn = plan(SOURCE, data=b"2: 8,002\n", visible=visible)
    half = drawn.half(0 if drawn.sides[0] else 1, KnownFunctions())
    assert half.drawn == ()
    assert half.weakly_failing == frozenset(FIXED)


@pytest.mark.parametrize("known", ["no reference", "it passed"])
def test_unconfirmed_visible_value_is_not_changed(known):
    drawn = plan(certain_only=known == "no reference")
    side = 0 if drawn.sides[0] else 1
    passed = KnownFunctions(uncertain=drawn.sides[side] if known == "it passed" else frozenset())
    half = drawn.half(side, passed)
    assert [one.original for one in half.drawn] == (["61"] if known == "no reference" else [])
    assert set(half.files) == {"t.py"}
