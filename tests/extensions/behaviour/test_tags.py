"""docs/behaviour.md defines each tag as the rules do."""

from pathlib import Path

import pytest

from agentbench.extensions.behaviour.rules import RULES
from agentbench.extensions.behaviour.tags import MEANINGS, Tag

PAGE = (Path(__file__).parents[3] / "docs" / "behaviour.md").read_text()


@pytest.mark.parametrize("tag", Tag)
def test_tag_is_defined_in_docs_as_in_the_rules(tag: Tag) -> None:
    assert tag in RULES
    meaning = MEANINGS[tag]
    assert f"| `{tag}` | {meaning.rule} | {meaning.not_said} |" in PAGE
