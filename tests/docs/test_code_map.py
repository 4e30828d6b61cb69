"""The map of the code is that of the docstrings."""

from tests.docs.code_map import SOURCE, code_map

PAGE = SOURCE.parents[1] / "docs" / "code_map.md"


def test_the_map_is_current():
    assert PAGE.read_text("utf-8") == code_map(), (
        "run: python -m tests.docs.code_map > docs/code_map.md"
    )


def test_every_folder_and_module_is_on_the_map():
    page = code_map()
    for path in SOURCE.rglob("*.py"):
        if path.name != "__init__.py":
            assert f"(../src/{path.relative_to(SOURCE.parent).as_posix()}):" in page


def test_a_folder_comes_with_its_docstring_and_its_modules(tmp_path):
    below = tmp_path / "agentbench" / "below"
    below.mkdir(parents=True)
    (below.parent / "__init__.py").write_text('"""All."""\n')
    (below / "__init__.py").write_text('"""What is below.\n\nMore of it.\n"""\n')
    (below / "one.py").write_text('"""The one module.\n\nNot on the map.\n"""\n')

    assert code_map(below.parent).endswith(
        "## agentbench/below/\n\nWhat is below.\n\nMore of it.\n\n"
        "- [one.py](../src/agentbench/below/one.py): The one module.\n"
    )
