from agentbench.extensions.mutation.mutants import TouchedLines, lines_of_functions, touched_lines
from agentbench.python_source import python_syntax

BEFORE = "def f(x):\n    a = 1\n    log(a)\n    return a + x\n\n\ndef g():\n    return 2\n"


def test_lines_that_are_new_or_replaced_are_changed():
    after = BEFORE.replace("a = 1", "a = 2").replace("return 2\n", "return 2\n\nMORE = 3\n")
    assert touched_lines(BEFORE, after) == TouchedLines(changed=frozenset({2, 9, 10}))


def test_where_lines_were_taken_away_their_neighbours_are_touched():
    after = BEFORE.replace("    log(a)\n", "")
    assert touched_lines(BEFORE, after) == TouchedLines(
        changed=frozenset(), beside=frozenset({2, 3})
    )


def test_all_lines_of_a_new_file_are_changed():
    assert touched_lines("", "x = 1\ny = 2\n").changed == {1, 2}


def test_a_line_widens_to_its_innermost_function():
    source = (
        "class C:\n    def outer(self):\n        def inner():\n            return 1\n"
        "        return inner\nX = 1\n"
    )
    tree = python_syntax.parse(source)
    assert lines_of_functions(tree, TouchedLines(changed=frozenset({4}))) == {3, 4}
    assert lines_of_functions(tree, TouchedLines(changed=frozenset({5}))) == {2, 3, 4, 5}
    assert lines_of_functions(tree, TouchedLines(changed=frozenset({6}))) == set()
