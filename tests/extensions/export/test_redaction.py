import pytest

from agentbench.extensions.export.redaction import RowRedactor

KEY = "sk-" + "a1B2" * 8


@pytest.mark.parametrize(
    "row",
    [
        {"tests": ("one", "two")},
        {"tools": [("a", ({"name": "b"},))], "none": None},
        {"nested": {"names": ()}, "numbers": (1, 2.5, True)},
        {"text": "[removed]"},
    ],
)
def test_row_without_a_secret_is_not_counted(row):
    redactor = RowRedactor({"API_KEY": "a-long-secret-value"})
    redactor.row(row)
    assert redactor.rows == 0


@pytest.mark.parametrize(
    "row",
    [
        {"tests": ("one", f"key {KEY}")},
        {"nested": {f"{KEY}": 1}},
        {"text": "it was a-long-secret-value, twice: a-long-secret-value"},
    ],
)
def test_row_with_a_secret_counts_once(row):
    redactor = RowRedactor({"API_KEY": "a-long-secret-value"})
    redactor.row(row)
    redactor.row({"tests": ("none",)})
    assert redactor.rows == 1
