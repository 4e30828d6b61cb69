"""Files of tests that use Python and pytest in all manners; they are kept as plain text."""

from pathlib import Path

CORPUS = {
    f"test_{path.stem}.py": path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parent / "corpus").glob("*.txt"))
}
