import ast

from agentbench.extensions.mutation.mutation_rewrites import changeable_nodes
from agentbench.python_source import python_syntax


def constants(text):
    found = changeable_nodes(python_syntax.parse(text))
    return [node.value for node in found if isinstance(node, ast.Constant)]


def test_sites_are_in_the_order_of_the_source():
    assert constants("a = 1\nif b > 2:\n    c = [3, 4]\n") == [1, 2, 3, 4]


def test_documentation_and_annotations_are_no_sites():
    text = (
        '"""Module."""\nclass C:\n    """Class."""\n    x: "int" = 5\n\n'
        '    def f(self, a: "A" = 6) -> "B":\n        """Method."""\n'
    )
    assert constants(text) == [5, 6]


def test_logs_messages_and_f_strings_are_no_sites():
    text = "LOG.debug(1)\nlog(2)\nraise E(3)\nassert a > 4, 5\nx = f'{6}'\nself.error(7)\n"
    assert constants(text) == [2, 4, 7]
