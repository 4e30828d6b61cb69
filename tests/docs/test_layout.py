"""Tests are where they are looked for, as CONTRIBUTING.md says."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "agentbench"
# These hold tests of behaviour across modules, and of what is no module.
APART = {"benchmarks", "chaos", "corpora", "docs", "e2e", "fakes"}


def is_named_after_a_module(file: Path) -> bool:
    name = file.stem.removeprefix("test_")
    module = SOURCE.joinpath(*file.parts[:-1], name)
    helper = TESTS.joinpath(*file.parts[:-1], name)
    files = (
        module.with_suffix(".py"),
        module.with_name(f"__{name}__.py"),
        helper.with_suffix(".py"),
    )
    return module.is_dir() or any(path.is_file() for path in files)


def test_each_test_file_is_named_after_a_module_or_stands_apart() -> None:
    files = [path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")]
    assert len(files) > 400
    lost = [file for file in files if not APART & set(file.parts[:-1])]
    assert [str(file) for file in lost if not is_named_after_a_module(file)] == []
