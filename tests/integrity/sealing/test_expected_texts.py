"""The texts of expected exceptions and warnings that a test computes."""

from random import Random
from textwrap import dedent

import pytest

from agentbench.integrity.control_plan import ControlledTests
from agentbench.integrity.sealing.canonical import Instance, Leaf, Recording
from agentbench.integrity.sealing.memory import SealedReference, reference_run
from agentbench.integrity.sealing.plan import JudgedSeal, SealedOutcome, SealedPlan
from agentbench.integrity.sealing.seal import SealedFile, SealSettings, seal_file
from agentbench.scoring.evidence import NodeId

IMPORTS = "import pytest\nfrom shop import MESSAGE, Stats, parse\nfrom tests.data import TEXT\n"
IT = NodeId("test_it.py::T::test_it")


def file_with(body: str, *, head: str = "") -> str:
    indented = "".join(f"        {line}\n" for line in dedent(body).strip().splitlines())
    return f"{IMPORTS}{dedent(head)}\nclass T(Base):\n    def test_it(self):\n{indented}"


def sealed(body: str, *, head: str = "") -> SealedFile:
    return seal_file(file_with(body, head=head), "test_it.py", [IT], Random(1))


@pytest.mark.parametrize(
    "body",
    [
        "with pytest.raises(KeyError, match=f'sixty {parse(1)}'):\n    parse('a')",
        "msg = 'sixty %s' % parse(1)\nwith self.assertRaisesMessage(KeyError, msg):\n    parse(2)",
        "for x in ('a', 'b'):\n    msg = f'sixty {x}'\n"
        "    with self.assertRaisesMessage(KeyError, msg):\n        parse(x)",
        "cases = [(parse(1), 'a long part')]\nparse('a long part')\nfor x, y in cases:\n"
        "    with self.assertRaisesMessage(KeyError, f'sixty {y}'):\n        parse(x)",
        "s = Stats(1)\nmsg = 'sixty {}'.format(s.n)\nself.assertWarnsMessage(Warning, msg, parse)",
        "msg = 'sixty one'\nwith self.assertRaisesMessage(KeyError, msg):\n    parse('a')\n"
        "msg = f'sixty {parse(2)}'\nwith self.assertRaisesMessage(KeyError, msg):\n    parse('b')",
        "with self.assertRaisesMessage(KeyError, self.check(1) + 'sixty'):\n    parse('a')",
    ],
)
def test_computed_text_is_taken_out(body):
    file = sealed(body)
    assert "sixty" not in file.source
    assert file.functions["T::test_it"].unsealed is None


@pytest.mark.parametrize(("text", "is_sealed"), [("f'sixty {y}'", True), ("f'{y}'", False)])
def test_part_may_be_an_input_of_another_test(text, is_sealed):
    body = f"""
        for x, y in [('a', 'long part')]:
            with self.assertRaisesMessage(KeyError, {text}):
                parse(x)
    """
    other = NodeId("test_it.py::test_other")
    head = "def test_other():\n    assert parse('long part')\n"
    file = seal_file(file_with(body, head=head), "test_it.py", [IT, other], Random(1))
    assert "sixty" not in file.source
    assert (file.functions["T::test_it"].unsealed is None) is is_sealed


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("'sixty one'", None),
        ("MESSAGE", None),
        ("TEXT", "its expected value is in another file"),
        ("'sixty %s' % TEXT", "its expected value is in another file"),
    ],
)
def test_attribute_of_the_class_is_taken_out(value, why):
    text = file_with("self.assertWarnsMessage(Warning, self.msg, parse)")
    text = text.replace("    def test_it", f"    msg = {value}\n    def test_it")
    file = seal_file(text, "test_it.py", [IT], Random(1))
    assert "sixty" not in file.source
    found = file.functions["T::test_it"].unsealed
    assert (found or "").endswith(why or "")
    assert (found is None) == (why is None)


@pytest.mark.parametrize(
    ("body", "head", "why"),
    [
        ("msg = 'sixty one'\nparse(msg)\nself.assertRaisesMessage(KeyError, msg, parse)", "", 0),
        ("self.assertRaisesMessage(KeyError, self.make(), parse)", "", 1),
        ("self.assertRaisesMessage(KeyError, self.msg, parse)", "", 1),
        (
            "self.assertRaisesMessage(KeyError, 'long' + self.make(), parse)",
            "class Base:\n    def make(self):\n        return 'sixty'\n",
            1,
        ),
        ("msg = 'six'\nmsg += 'ty'\nself.assertRaisesMessage(KeyError, msg, parse)", "", 1),
        (
            "check('sixty', *pairs)",
            "def check(msg, *r):\n    with pytest.raises(KeyError, match=msg):\n        r()\n",
            1,
        ),
        (
            "ask('sixty', *pairs)",
            "def ask(m, *r):\n    with pytest.raises(KeyError, match=f'long {m}'):\n        r()\n",
            1,
        ),
        (
            "self.assertRaisesMessage(KeyError, PREFIX + 'long', parse)",
            "PREFIX = 'sixty'\nother = parse(PREFIX)\n",
            0,
        ),
        (
            "parse('say sixty')\nself.assertRaisesMessage(KeyError, f'sixty{parse(1)}', parse)",
            "",
            2,
        ),
    ],
)
def test_text_that_stays_elsewhere_is_not_sealed(body, head, why):
    reasons = (
        "is an input of the test, too",
        "computes the expected text",
        "elsewhere in the file",
    )
    file = sealed(body, head=head)
    assert (file.functions["T::test_it"].unsealed or "").endswith(reasons[why])


def test_attribute_that_the_test_reads_elsewhere_is_not_sealed():
    text = file_with("parse(self.msg)\nself.assertWarnsMessage(Warning, self.msg, parse)")
    text = text.replace("    def test_it", "    msg = 'sixty one'\n    def test_it")
    file = seal_file(text, "test_it.py", [IT], Random(1))
    assert "is an input" in (file.functions["T::test_it"].unsealed or "")


@pytest.mark.parametrize(
    ("base", "used", "is_sealed"),
    [
        ("class Other:\n    msg = 'sixty one'\n", (), False),
        ("class Base:\n    msg = 'sixty one'\n", (), True),
        ("class Base:\n    msg = 'sixty one'\n", ("msg",), False),
    ],
)
def test_attribute_that_another_file_may_set_is_not_sealed(base, used, is_sealed):
    text = file_with("self.assertWarnsMessage(Warning, self.msg, parse)", head=base)
    settings = SealSettings(used_names=used or None)
    file = seal_file(text, "test_it.py", [IT], Random(1), settings)
    assert (file.functions["T::test_it"].unsealed is None) is is_sealed
    assert ("sixty" not in file.source) is is_sealed


def judged(body: str, found: Recording, *references: Recording) -> JudgedSeal:
    files = {"test_it.py": file_with(body).encode()}
    tests = ControlledTests(files=files, fixed=(IT,), passing=())
    runs = tuple(reference_run(frozenset({IT}), {IT: (one,)}) for one in references)
    outcome = SealedOutcome(
        passed=frozenset({IT}), ended=frozenset({IT}), recordings={IT: (found,)}
    )
    plan = SealedPlan(tests, 1, SealedReference())
    return plan.judge(outcome, SealedReference(runs=runs))


def error(text: str, name: str = "builtins.KeyError") -> Instance:
    types = (name, "builtins.Exception")
    return Instance("exception", types, disclosures=(("str", Leaf("str", text)),))


def raised(text: str, name: str = "builtins.KeyError") -> Recording:
    return Recording(1, raised=error(text, name), is_error=True)


def test_host_computes_a_text_of_constants():
    body = "n = 1\nmsg = f'sixty {n}'\nwith self.assertRaisesMessage(KeyError, msg):\n    parse(n)"
    assert judged(body, raised("say sixty 1")).sealed == {IT}
    assert judged(body, raised("say sixty 2")).differing == {IT}


@pytest.mark.parametrize("text", ["'%d' % 9", "'%99999d' % 9", "'{0.n:99999}'.format(9)"])
def test_host_leaves_older_formats_to_the_reference(text):
    body = f"with self.assertRaisesMessage(KeyError, {text}):\n    parse('a')"
    assert judged(body, raised("sixty")).sealed == frozenset()
    assert judged(body, raised("sixty"), raised("sixty")).sealed == {IT}


COMPUTED = "with self.assertRaisesMessage(KeyError, f'sixty {parse(1)}'):\n    parse('a')"


def test_text_that_the_host_cannot_evaluate_is_compared_with_the_references():
    assert judged(COMPUTED, raised("sixty 1"), raised("sixty 1")).sealed == {IT}
    assert judged(COMPUTED, raised("sixty 1")).sealed == frozenset()


@pytest.mark.parametrize("text", ["sixty 2", "more: sixty 1", ""])
def test_another_text_than_the_references_is_left_to_other_controls(text):
    found = judged(COMPUTED, raised(text), raised("sixty 1"))
    assert (found.sealed, found.differing) == (frozenset(), frozenset())
    assert found.unsealed[IT].startswith("the host cannot evaluate line")


def test_text_that_varies_between_references_tells_nothing():
    found = judged(COMPUTED, raised("any"), raised("sixty 1"), raised("sixty 2"))
    assert (found.sealed, found.differing) == (frozenset(), frozenset())
    found = judged(COMPUTED, raised(""), raised(""))
    assert found.sealed == frozenset()


def test_text_of_a_warning_is_compared_with_the_references():
    body = "self.assertWarnsMessage(Warning, f'sixty {parse(1)}', parse)"

    def warned(*texts: str) -> Recording:
        return Recording(1, warned=tuple(error(text, "builtins.Warning") for text in texts))

    assert judged(body, warned("more", "sixty 1"), warned("sixty 1")).sealed == {IT}
    found = judged(body, warned("sixty 2"), warned("sixty 1"))
    assert (found.sealed, found.differing) == (frozenset(), frozenset())
