from pathlib import PurePosixPath

import pytest

from agentbench.audit.task_facts import read_task_facts
from agentbench.core.files import FileContent
from agentbench.extensions.symbolic.differential.input_search import (
    import_location_of,
    search_inputs,
)
from agentbench.extensions.symbolic.differential.search import ComparedAttempt, prepare_comparison
from agentbench.extensions.symbolic.differential.tree_difference import compare_trees
from agentbench.extensions.symbolic.differential.trees import AttemptTrees, SourceTree
from tests.extensions.symbolic.differential.test_differential_audit import audit_in
from tests.fakes.staging import mirrors, small_task

MANY = "".join(f"def f{n}(x: int) -> int:\n    return x\n\n\n" for n in range(25))
FORGING = """\
import os, sys

for descriptor in range(3, 64):
    try:
        os.write(descriptor, b"no answer\\n")
    except OSError:
        pass
os.kill(os.getppid(), 9)
"""
WRONG = "def f0(x: int) -> int:\n    return x + (x == 77)\n"


@pytest.fixture(scope="module")
def subject_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    task = small_task(folder / "small", files={"lib.py": MANY, "tests/test_lib.py": "import lib\n"},
                      hidden="def test_a():\n    import lib\n    assert lib.f7(1) == 1\n",
                      fail_to_pass=("tests/test_hidden.py::test_a",))  # fmt: skip
    facts = read_task_facts(task, mirrors())
    audit = audit_in(folder)
    sandboxes = prepare_comparison(task, audit.resources, audit.cache_dir)

    def made(text: str) -> ComparedAttempt:
        content = FileContent(content=text.encode(), executable=False)
        base = SourceTree(base=facts.base, change={})
        agents = SourceTree(base=facts.base, change={PurePosixPath("lib.py"): content})
        trees = AttemptTrees(base=base, reference=base, agents=agents)
        contrast = compare_trees(trees, ("tests",), frozenset())
        return ComparedAttempt(facts=facts, trees=trees, contrast=contrast, sandboxes=sandboxes)

    return made


def test_rare_value_is_found_and_confirmed(subject_of):
    text = MANY.replace("def f0(x: int) -> int:\n    return x\n", WRONG)
    searched = search_inputs(subject_of(text), 10)
    (told,) = searched.differences
    assert told.where == "lib.py::f0"
    assert told.what == (
        "differs from the reference on f0(77): returns 78; the reference returns 77 "
        "(base: returns 77)"
    )


def test_time_limit_names_the_uncompared_functions_called_ones_first(subject_of):
    searched = search_inputs(subject_of(MANY.replace("return x", "return +x")), 6)
    named = {left.where for left in searched.left if "no time" in left.why}
    assert len(named) == 22
    assert "lib.py::f7" not in named


def test_killed_program_leaves_everything_uncompared(subject_of):
    searched = search_inputs(subject_of(FORGING + MANY.replace("return x", "return +x")), 3)
    assert searched.differences == ()
    assert {left.where for left in searched.left} == {f"lib.py::f{n}" for n in range(25)}


def test_function_is_looked_up_below_its_tree(subject_of):
    subject = subject_of(MANY.replace("return x", "return +x"))
    place = import_location_of(subject, subject.contrast.callable[0], PurePosixPath("/tree"))
    assert (place.paths, place.module, place.name) == (("/tree",), "lib", "f0")
