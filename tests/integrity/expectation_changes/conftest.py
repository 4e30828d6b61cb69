"""How the tests of the corpus end, for all that compare with it."""

from random import Random

import pytest

from agentbench.integrity.expectation_changes.engine import rewrite_tests
from tests.integrity.expectation_changes.corpus_files import CORPUS
from tests.integrity.expectation_changes.real_pytest import outcomes


@pytest.fixture(scope="session")
def corpus_outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "pytest.ini").write_text("[pytest]\n")
    for variant in ("original", "disguised", "crlf"):
        (folder / variant).mkdir()
    for name, text in CORPUS.items():
        (folder / "original" / name).write_bytes(text.encode())
        (folder / "disguised" / name).write_bytes(
            rewrite_tests(text, name, [], Random(1)).source.encode()
        )
        disguised = rewrite_tests(text.replace("\n", "\r\n"), name, [], Random(2)).source
        (folder / "crlf" / name).write_bytes(disguised.encode())
    found: dict[str, dict[str, str]] = {}
    for test, outcome in outcomes(folder, importing="importlib").items():
        variant, _, rest = test.partition("/")
        found.setdefault(variant, {})[rest] = outcome
    return found


@pytest.fixture(scope="session")
def passing(corpus_outcomes: dict[str, dict[str, str]]) -> list[str]:
    return [test for test, outcome in corpus_outcomes["original"].items() if outcome == "passed"]
