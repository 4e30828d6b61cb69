"""Which code of an instruction is an example, and what examples do in a real sandbox."""

from datetime import timedelta
from pathlib import PurePosixPath

import pytest

from agentbench.core.files import FileContent
from agentbench.extensions.test_quality.instruction_examples import (
    ExampleOutcome,
    examples_in,
    prose_of,
    run_examples,
)
from agentbench.extensions.test_quality.mutation_measurement import prepared_context
from tests.e2e.small_task import FIXED
from tests.extensions.test_quality.test_mutation_measurement import settings
from tests.fakes.staging import local_provider, small_task


@pytest.mark.parametrize(
    ("instruction", "pieces"),
    [
        (">>> a = 1\n>>> a + 1\n2\n", ("a = 1", "a + 1")),
        (
            "    >>> for n in range(2):\n    ...     print(n)\n    0\n",
            ("for n in range(2):\n    print(n)",),
        ),
        ("In [1]: f(2)\nOut[1]: 3\n", ("f(2)",)),
        ("```python\nimport a\na.b()\n```\n", ("import a", "a.b()")),
        ("```\nf(1)\n```\n", ("f(1)",)),
        ("```pycon\n>>> f(1)\n[4, 5]\n```\n", ("f(1)",)),
        ("```python\nprint total([1])\n```\n", ("print(total([1]))",)),
        ("Then `total([1])` is 0, and `total` is wrong.\n", ("total([1])",)),
        ("```sh\nls()\n```\n", ()),
        ("```\nnot python at all\n```\n", ()),
        ("```\nTraceback (most recent call last):\n  ...\n```\n", ()),
        ("Nothing here.\n", ()),
    ],
)
def test_sessions_blocks_and_calls_are_examples(instruction, pieces):
    assert examples_in(instruction) == pieces


def test_prose_is_what_is_left_without_code():
    instruction = """Wrong `total` of total(x=1)
```
price
```
    tax
>>> sum([1])
and no sum
"""
    assert prose_of(instruction).split() == ["Wrong", "of", "and", "no", "sum"]


def test_the_words_of_an_exception_do_not_count_but_those_of_a_value_do():
    assert ExampleOutcome("KeyError", "a").equals(ExampleOutcome("KeyError", "b"))
    assert not ExampleOutcome("KeyError", "a").equals(ExampleOutcome("ValueError", "a"))
    assert not ExampleOutcome("value", "a").equals(ExampleOutcome("value", "b"))


@pytest.mark.full
def test_examples_run_in_the_base_and_in_a_fix(tmp_path):
    task = small_task(tmp_path / "task")
    pieces = (
        "total([1, 2])",  # its import is left out
        "import basket",
        "print('{', basket.total([]))",
        "basket.total(None)",
        "unknown_name(1)",
        "object()",
    )
    how = settings()
    prepared = prepared_context(task, how.options, local_provider(), how.cancel)
    with prepared as (context, _):
        fixed = {PurePosixPath("basket.py"): FileContent(content=FIXED.encode(), executable=False)}
        before, after = (
            run_examples(context, pieces, ("basket",), one).outcomes for one in ({}, fixed)
        )
    assert before[0] == ExampleOutcome("value", "2")
    assert after[0] == ExampleOutcome("value", "3")
    assert after[1] == ExampleOutcome("value", "")
    assert after[2] == ExampleOutcome("value", "{ 0\n")
    assert after[3].kind == "TypeError"
    assert after[4] == ExampleOutcome("unknown", "unknown_name")
    assert after[5] == ExampleOutcome("value", "<object object at 0x>")
    assert [one.equals(other) for one, other in zip(before, after, strict=True)] == [
        False,
        *[True] * 5,
    ]


@pytest.mark.full
def test_an_example_without_an_end_is_cut_with_those_after_it(tmp_path):
    how = settings()
    prepared = prepared_context(
        small_task(tmp_path / "task"), how.options, local_provider(), how.cancel
    )
    with prepared as (context, _):
        ran = run_examples(
            context, ("1 + 1", "while True: pass", "2"), (), {}, timedelta(seconds=3)
        )
    assert ran.outcomes == (ExampleOutcome("value", "2"),)
    assert ran.took >= timedelta(seconds=3)
