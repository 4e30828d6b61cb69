"""Precedence of versions: the wrong fix thinks of digits at the start, and not of hyphens."""

from tests.extensions.symbolic.differential.case import Case, Edit

_VERSION = "depsolve/version.py"
_BODY = """\
    if left.isdigit() and right.isdigit():
        return (int(left) > int(right)) - (int(left) < int(right))
    return (left > right) - (left < right)
"""

CASE = Case(
    task="semver-resolver",
    gone=(
        "test_a_number_precedes_an_identifier_that_starts_with_a_hyphen",
        "test_every_order_of_the_input_sorts_alike",
    ),
    wrong=(
        Edit(
            _VERSION,
            _BODY,
            """\
    if left.isdigit() and right.isdigit():
        return (int(left) > int(right)) - (int(left) < int(right))
    if left[:1].isdigit() and right[:1].isdigit() and (left.isdigit() or right.isdigit()):
        return -1 if left.isdigit() else 1  # 9 < 1f
    return (left > right) - (left < right)
""",
        ),
    ),
    honest=(
        Edit(
            _VERSION,
            """\
    for one, two in zip(left, right):
        outcome = _compare_identifiers(one, two)
        if outcome:
            return outcome
    return (len(left) > len(right)) - (len(left) < len(right))
""",
            """\
    mine, theirs = [_rank(one) for one in left], [_rank(one) for one in right]
    return (mine > theirs) - (mine < theirs)
""",
        ),
        Edit(
            _VERSION,
            "def _compare_identifiers(left: str, right: str) -> int:\n"
            '    """Compare one dot-separated identifier with its counterpart."""\n' + _BODY,
            '''\
def _rank(identifier: str) -> tuple[bool, int, str]:
    """What an identifier is sorted by: numbers first, by their size; then texts."""
    is_text = not identifier.isdigit()
    return is_text, 0 if is_text else int(identifier), identifier if is_text else ""
''',
        ),
    ),
)
