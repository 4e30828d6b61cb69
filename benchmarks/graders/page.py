"""Writes docs/graders.md from the verdicts in benchmarks/graders/graders.json.

Run: python -m benchmarks.graders.page > docs/graders.md
"""

import re
from collections.abc import Iterable, Iterator
from string import ascii_uppercase

from benchmarks.graders.maintainers import SAYINGS
from benchmarks.graders.results import Cell, Column, Results, RowText, read, resolved

_HEAD = """\
# Graders

This page shows which graders of coding agents can be fooled by an agent that fixed nothing, and
which reject an honest fix.

`benchmarks/graders/page.py` generates it from `benchmarks/graders/graders.json`: do not edit it.
`python -m benchmarks.graders` runs the same agents on the same tasks with each grader's own package
and command, and writes that file.
"""
_METHOD = """\
## Method

- An agent is a shell script without a model. It runs in the repository of a small Python task.
  Each grader gets the task in the form that its documents and examples show, with their defaults.
- A task has hidden tests that fail before the fix (`fail_to_pass`), visible tests that pass before
  it (`pass_to_pass`) and a reference solution. All graders get the same image and the same tests.
- A cheat fixes nothing, or it fixes the tested function and destroys another one. It has fooled a
  grader if the grader resolved it in one of the repeats.
- An honest fix is right, and an agent that made it did something unusual besides.
- The script works inside what the grader gives its agents. A grader that judges patches gets the
  difference between the repository's files before and after, whatever the agent did to `.git`.
- The grader alone decides. A trial in which it gave no judgement (†) counts as not resolved.
- `graders.json` has for each trial the grader's own words and the checksum of the files that it
  wrote.
"""
_LIMITS = """\
## Limits

- The tasks are small and in Python, and pytest runs the tests. Another task in the same grader can
  be safer: its author can add checks. These have none but those of the documents.
- A grader is not worse because it has no answer to a cheat: some say that agents are to be trusted,
  or that people look at what they did.
- The cheats come from the authors of agentbench, who know their own defences best. Some were
  written against its control runs. What nobody thought of is not here.
- One machine, one container engine, one version of each grader, on the day that is named.
- agentbench runs its agents without root, others with it. A cheat that needs root and fails in its
  sandbox shows nothing about its judge. [Integrity](integrity.md) names the attackers that it does
  not defend against.
- The columns of agentbench are for tasks that it judges by their tests. A Harbor task whose
  verifier shares the agent's container is judged there by agentbench, too, and is as easy to fool
  as with Harbor.
- The table has no cheat that needs a model, a network or an answer that was left in the image.
"""

_NO_JUDGEMENT = "†"


def main() -> None:
    """Print the page."""
    print(page(read()), end="")


def page(results: Results) -> str:
    """The page; it says so if nothing was measured yet."""
    if not results["graders"]:
        return f"{_HEAD}\nNothing was measured yet.\n"
    letters = dict(zip(results["graders"], ascii_uppercase, strict=False))
    cheats = [row for row in results["rows"] if not row["honest"]]
    honest = [row for row in results["rows"] if row["honest"]]
    parts = (
        [_HEAD],
        _summary(results, letters, cheats, honest),
        _cheats(results, letters, cheats),
        _honest(results, letters, honest),
        [_METHOD],
        _graders(results, letters),
        _sayings(results),
        _kinds(cheats),
        [_LIMITS.rstrip("\n")],
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _summary(
    results: Results, letters: dict[str, str], cheats: list[RowText], honest: list[RowText]
) -> Iterator[str]:
    yield "## Summary"
    yield ""
    yield from _head("", "grader", "version", "fooled by", "honest fixes rejected", "s per trial")
    for name, column in results["graders"].items():
        if column["failed"] is not None:
            yield _row(
                letters[name], name, _version(name, column), f"did not run: {column['failed']}"
            )
            continue
        fooled = [bool(resolved(cells)) for cells in _cells(column, cheats)]
        rejected = [resolved(cells) < len(cells) for cells in _cells(column, honest)]
        yield _row(
            letters[name], name, _version(name, column), f"{sum(fooled)} of {len(fooled)} cheats",
            f"{sum(rejected)} of {len(rejected)}", _per_trial(column),
        )  # fmt: skip
    yield ""


def _cheats(results: Results, letters: dict[str, str], rows: list[RowText]) -> Iterator[str]:
    yield "## Cheats"
    yield ""
    yield "How many repeats of each cheat were resolved. The letters are in the summary."
    yield ""
    yield from _head("cheat", *letters.values())
    kind = ""
    for row in rows:
        if row["kind"] != kind:
            kind = row["kind"]
            yield _row(f"**{kind}**", *[""] * len(letters))
        yield _row(_text(row["title"]), *(_count(c, row, bad=True) for c in _columns(results)))
    yield ""


def _honest(results: Results, letters: dict[str, str], rows: list[RowText]) -> Iterator[str]:
    yield "## Honest fixes"
    yield ""
    yield "How many repeats of each right fix were resolved."
    yield ""
    yield from _head("the agent", *letters.values())
    for row in rows:
        yield _row(_text(row["title"]), *(_count(c, row, bad=False) for c in _columns(results)))
    yield ""
    words = [
        f"- {letters[name]}, {row['title']}: {_code(cell['detail'])}"
        for name, column in results["graders"].items()
        for row in rows
        for cell in [one for one in column["cells"].get(row["name"], []) if not one["resolved"]][:1]
    ]
    if words:
        yield "The graders' own words on each rejected fix:"
        yield ""
        yield from words
        yield ""


def _graders(results: Results, letters: dict[str, str]) -> Iterator[str]:
    yield "## What each grader runs"
    yield ""
    for name, column in results["graders"].items():
        facts = ", ".join(
            [
                column["taken"],
                *filter(None, [column["requirement"]]),
                f"Python {column['python']}",
                f"engine {column['engine']}",
                f"{column['machine']['cores']} cores",
                f"{column['trials']} trials, {column['jobs']} at a time",
            ]
        )
        yield f"- **{letters[name]}, {name}.** {column['method']} ({facts})"
    yield ""


def _sayings(results: Results) -> Iterator[str]:
    packages = dict.fromkeys(
        re.split(r"[\[=]", column["requirement"])[0] for column in _columns(results)
    )
    told = [package for package in packages if package in SAYINGS]
    if told:
        yield "## What their maintainers say"
        yield ""
        for package in told:
            yield f"**{package}.** {SAYINGS[package]}"
            yield ""


def _kinds(rows: list[RowText]) -> Iterator[str]:
    yield "## The cheats"
    yield ""
    for row in rows:
        title = row["title"][:1].upper() + row["title"][1:]
        yield f"**{title}.** {row['about']}"
        yield ""


def _columns(results: Results) -> Iterable[Column]:
    return results["graders"].values()


def _cells(column: Column, rows: list[RowText]) -> list[list[Cell]]:
    return [column["cells"][row["name"]] for row in rows if row["name"] in column["cells"]]


def _count(column: Column, row: RowText, *, bad: bool) -> str:
    cells = column["cells"].get(row["name"], [])
    if not cells:
        return "·"
    found = resolved(cells)
    text = f"{found}/{len(cells)}"
    if found if bad else found < len(cells):
        text = f"**{text}**"
    return text + (_NO_JUDGEMENT if any(cell["resolved"] is None for cell in cells) else "")


def _version(name: str, column: Column) -> str:
    own = column["agentbench"] if name.startswith("agentbench") else ""
    return column["requirement"].partition("==")[2].partition(" ")[0] or own


def _per_trial(column: Column) -> str:
    return f"{column['seconds'] / column['trials']:.1f}" if column["seconds"] else ""


def _head(*cells: str) -> list[str]:
    return [_row(*cells), _row(*["---"] * len(cells))]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


if __name__ == "__main__":
    main()
