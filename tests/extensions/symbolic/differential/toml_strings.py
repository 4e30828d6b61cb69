"""Texts of many lines in TOML: the wrong fix escapes carriage returns, and no other control."""

from tests.extensions.symbolic.differential.case import Case, Edit

_STRINGS = "src/tomlout/strings.py"
_ESCAPING = r"""    body = text.replace("\\", "\\\\")
"""

CASE = Case(
    task="toml-writer-escapes",
    gone=(
        "test_control_characters_in_many_lines_are_escaped",
        "test_every_control_character_is_read_back",
    ),
    wrong=(
        Edit(
            _STRINGS,
            _ESCAPING,
            r"""    body = text.replace("\\", "\\\\").replace("\r", "\\r")
""",
        ),
    ),
    honest=(
        Edit(
            _STRINGS,
            _ESCAPING,
            r"""    body = "".join(_in_lines(character) for character in text)
""",
        ),
        Edit(
            _STRINGS,
            "def _escaped(special",
            r"""def _in_lines(character: str) -> str:
    if character in '\t\n"':
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return f"\\u{code:04x}" if code < 32 or code == 127 else character


def _escaped(special""",
        ),
    ),
)
