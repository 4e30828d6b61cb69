"""Names in the source are words of the field: the glossary's list of words that name nothing."""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "agentbench"
BANNED = frozenset(
    [
        "made",
        "told",
        "seen",
        "left",
        "kept",
        "shown",
        "way",
        "place",
        "room",
        "door",
        "wall",
        "shelf",
        "glance",
        "look",
        "spot",
        "stamp",
        "aside",
        "beside",
        "afterwards",
        "errand",
        "baggage",
        "workshop",
        "bench",
        "laboratory",
        "leaves",
        "halves",
        "tries",
        "lost",
        "wanted",
        "chosen",
        "whoever",
        "nobody",
        "desk",
        "shop",
        "said",
        "wires",
        "rehearsal",
        "headline",
        "needles",
        "leftover",
        "leftovers",
        "toolbox",
        "workbench",
        "fate",
        "rubbish",
        "mishap",
        "unfit",
        "keeper",
        "carrier",
        "carrying",
    ]
)
USUAL = re.compile(r"look_up|in_place|left_out|LeftOut|connection_(made|lost)|lost_again|lost_it")
"""Names in which such a word is the usual one; asyncio calls its methods `connection_lost`."""


def names_in(path: Path) -> list[str]:
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [path.stem, *(node.name for node in ast.walk(tree) if isinstance(node, kinds))]


def words_of(name: str) -> set[str]:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", USUAL.sub("", name))
    return {word.lower() for word in words}


def test_no_module_class_or_function_has_a_word_that_names_nothing() -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in names_in(path)
        if words_of(name) & BANNED
    ]
    assert found == []


def test_words_are_found_in_names_of_all_forms() -> None:
    assert words_of("_leftOver_Shelf2") >= {"shelf"}
    assert words_of("PreparedShelf") == {"prepared", "shelf"}
    assert words_of("connection_lost") == set()
