"""The strength of filters: the wrong fix puts them above products, and forgets the sign."""

from tests.extensions.symbolic.differential.case import Case, Edit

_PRECEDENCE = "inkwell/precedence.py"
_TABLE = """\
    "|": 7,
    "*": 8,
    "/": 8,
    "%": 8,
    # 9: negative
    ".": 10,
    "[": 10,
}
_NOT = 3
_NEGATIVE = 9
"""

CASE = Case(
    task="template-engine-filters",
    gone=("test_filters_bind_more_tightly_than_a_sign",),
    wrong=(
        Edit(_PRECEDENCE, '    "|": 7,\n    "*": 8,\n', '    "*": 8,\n'),
        Edit(_PRECEDENCE, "    # 9: negative\n", '    # 9: negative\n    "|": 9,\n'),
    ),
    honest=(
        Edit(
            _PRECEDENCE,
            _TABLE,
            """\
    **dict.fromkeys("*/%", 8),
    # 9: negative
    "|": 20,
    ".": 30,
    "[": 30,
}
_NOT = 3
_NEGATIVE = 9
""",
        ),
    ),
)
