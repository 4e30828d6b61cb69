from agentbench.extensions.mutation.mutants import comparable_code


def same(left, right):
    return comparable_code(left) == comparable_code(right)


def test_words_that_compile_to_the_same_are_the_same():
    assert same("x = 2 * 3", "x = 6")
    assert same("def f():\n    return 1", "\n\ndef f():\n    return (1)  # one")


def test_other_constants_operators_and_names_are_not():
    assert not same("x = 1", "x = 1.0")
    assert not same("x = 0.0", "x = -0.0")
    assert not same("def f(a):\n    return a + 1", "def f(a):\n    return a - 1")
    assert not same("def f(a=1): ...", "def f(a=2): ...")
    assert not same("x = (1, (2, 3))", "x = (1, (2, True))")
    assert not same("try:\n    f()\nexcept A:\n    g()", "try:\n    f()\nexcept B:\n    g()")


def test_docstrings_do_not_count_wherever_they_are():
    assert same(
        '"""A."""\nfrom __future__ import annotations\n', "from __future__ import annotations"
    )
    assert same('class C:\n    """A."""\n    x = 1\n', 'class C:\n    """B."""\n    x = 1\n')
    assert same('def f():\n    """A."""\n', "def f():\n    pass\n")
    assert not same('x = """A."""', 'x = """B."""')
