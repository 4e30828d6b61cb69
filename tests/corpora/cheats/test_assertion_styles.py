"""A survey of styles of assertions: an expected value that stays in the test is never sealed."""

import json
from pathlib import Path
from random import Random

from agentbench.integrity.records import ControlKind
from agentbench.integrity.sealing.seal import seal_file
from tests.corpora.cheats.assertion_styles import BUGGY, FIXED, HEAD, HELPERS, HIDDEN, OPEN, STORED
from tests.e2e.bench import Bench
from tests.e2e.small_task import SERIAL, SmallTask, patch_of

STRONG = "assert basket.other(<n>) == [<n>, 'o', <m>]\n"
"""An assertion that the fix is about, too, and that is sealed."""
STYLES = (*HIDDEN, *OPEN, *STORED, *(STRONG + style for style in (*OPEN, *STORED)))
FILE = "tests/test_hidden.py"


def expected(number: int) -> int:
    return 7000 + number


def function(number: int, style: str) -> str:
    values = {"<n>": number, "<e>": expected(number), "<m>": 3 * number}
    body = style
    for mark, value in values.items():
        body = body.replace(mark, str(value))
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"\n\ndef test_style_{number}():\n{lines}"


def test_no_style_is_sealed_while_its_expected_value_stays(
    walled_bench: Bench, tmp_path: Path
) -> None:
    styles = dict(enumerate(STYLES, start=1001))
    hidden = HEAD + "".join(function(number, style) for number, style in styles.items())
    ids = {number: f"{FILE}::test_style_{number}" for number in styles}
    task = SmallTask(
        files={"basket.py": BUGGY, "tests/test_basket.py": "", "serial.txt": SERIAL},
        hidden=hidden,
        hidden_data={
            "tests/helpers.py": HELPERS,
            "tests/stored.json": json.dumps({number: expected(number) for number in styles}) + "\n",
        },
        solution=patch_of("basket.py", BUGGY, FIXED),
        fail_to_pass=tuple(ids.values()),
    ).write(tmp_path / "survey")

    record = walled_bench.attempt(task, "oracle")

    assert record.resolved, record.detail
    assert record.controls is not None
    control = {test.node_id: test.control for test in record.controls.tests}
    sealed = {n for n, node_id in ids.items() if control[node_id] is ControlKind.SEALED}
    text = seal_file(hidden, FILE, list(ids.values()), Random(1)).source
    visible = {number for number in styles if str(expected(number)) in text}
    visible |= {number for number, style in styles.items() if style.endswith(STORED)}
    assert [styles[number] for number in sorted(sealed & visible)] == []
    hidden_ones = {number for number, style in styles.items() if style in HIDDEN}
    assert [styles[number] for number in sorted(hidden_ones - sealed)] == []
    assert len(styles) >= 95
    assert len(visible) >= 40
