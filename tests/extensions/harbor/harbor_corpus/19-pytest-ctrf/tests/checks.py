import pytest
from slug import slug


@pytest.mark.parametrize(
    ("title", "wanted"),
    [("one", "one"), ("Two Words", "two-words"), ("a  b", "a-b"), (" c ", "c")],
)
def test_slug(title: str, wanted: str) -> None:
    assert slug(title) == wanted
