"""Marks at the edge of a line: the wrong fix takes one mark along, where a letter may bear two."""

from tests.extensions.symbolic.differential.case import Case, Edit

_COLUMNS = "colwrap/columns.py"
_CUT = """\
        if used == columns:
            return text[: at + 1], text[at + 1 :]
"""
_BODY = (
    """\
    used = 0
    for at, character in enumerate(text):
        wide = char_width(character)
        if used + wide > columns:
            return text[:at], text[at:]
        used += wide
"""
    + _CUT
    + """\
    return text, ""
"""
)

CASE = Case(
    task="wide-text-wrap",
    gone=("test_all_marks_of_a_letter_stay_with_it",),
    wrong=(
        Edit(
            _COLUMNS,
            _CUT,
            """\
        if used == columns:
            end = at + 1
            if end < len(text) and char_width(text[end]) == 0:
                end += 1  # its mark
            return text[:end], text[end:]
""",
        ),
    ),
    honest=(
        Edit(
            _COLUMNS,
            _BODY,
            """\
    room, end = columns, 0
    while end < len(text) and char_width(text[end]) <= room:
        room -= char_width(text[end])
        end += 1
    return text[:end], text[end:]
""",
        ),
    ),
)
