"""Quoted fields of many lines: the wrong fix forgets the field that the end of the sample cuts."""

from tests.extensions.symbolic.differential.case import Case, Edit

_SNIFFER = "tabread/sniffer.py"
_ROWS = """\
    lines = _LINE_END.split(sample)
    if len(lines) > 1:
        lines.pop()  # empty, or cut off somewhere
    rows = [_strip_quoted(line, quote) for line in lines if line]
    return rows or [""]
"""
_LOOP = """\
    kept: list[str] = []
    quoted = False
    for char in line:
        if quoted:
            quoted = char != quote
        elif char == quote and (not kept or kept[-1] in DELIMITERS):
            quoted = True
        else:
            kept.append(char)
    return "".join(kept)
"""

CASE = Case(
    task="csv-dialect-sniffer",
    gone=(
        "test_a_sample_may_end_within_a_quoted_field",
        "test_a_long_note_across_the_sample_does_not_matter",
    ),
    wrong=(
        Edit(
            _SNIFFER,
            _ROWS,
            """\
    lines = _LINE_END.split(_strip_quoted(sample, quote))
    if len(lines) > 1:
        lines.pop()  # empty, or cut off somewhere
    rows = [line for line in lines if line]
    return rows or [""]
""",
        ),
        Edit(
            _SNIFFER,
            _LOOP,
            r"""    edge = re.escape(DELIMITERS + "\r\n")
    part = rf"(?<![^{edge}]){quote}(?:[^{quote}]|{quote}{quote})*{quote}"
    return re.sub(part, "", line)
""",
        ),
    ),
    honest=(
        Edit(
            _SNIFFER,
            _ROWS,
            """\
    bare = _outside_of_quotes(sample, quote)
    rows = _LINE_END.split(bare)
    finished = rows[:-1] if len(rows) > 1 else rows
    return list(filter(None, finished)) or [""]
""",
        ),
        Edit(
            _SNIFFER,
            "def _strip_quoted(line: str, quote: str) -> str:\n",
            "def _outside_of_quotes(sample: str, quote: str) -> str:\n",
        ),
        Edit(
            _SNIFFER,
            _LOOP,
            r"""    kept = ""
    at = 0
    while at < len(sample):
        if sample[at] == quote and (not kept or kept[-1] in DELIMITERS + "\r\n"):
            end = sample.find(quote, at + 1)
            at = len(sample) if end < 0 else end + 1
        else:
            kept += sample[at]
            at += 1
    return kept
""",
        ),
    ),
)
