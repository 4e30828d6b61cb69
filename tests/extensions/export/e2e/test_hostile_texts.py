"""Texts that break readers: lone surrogates, NULs, megabytes, ends of lines, Markdown."""

import json

import pytest

from agentbench.attempt.logs import EXCHANGE_LOG
from agentbench.attempt.record import PatchRecord
from agentbench.core.untrusted_json import TEXT_LIMIT
from agentbench.errors import InputError
from agentbench.extensions.export.option_values import ExportFormat, VerdictKind
from agentbench.runs.store.store import RunStore
from tests.models.test_trajectory import TASK, completion, exchange, says
from tests.runs.records import configuration, failed, lost, resolved

ODD = "nul \x00, bell \x07, line \u2028 end \x85, mirror \u202e, emoji \U0001f600, tab \t\r\n"
CALL = says(ODD, ("c1", "run\u2028", json.dumps({ODD: [None, {"deep": ODD}], "n": 1e308})))
RESULT = {"role": "tool", "tool_call_id": "c1", "content": ODD}
BIG = "x" * 10_000_000
PATCH = PatchRecord(path="patch.diff", sha256="0", files=1, insertions=0, deletions=0)


@pytest.fixture
def run(tmp_path):
    def make(*attempts, record=resolved, model="gpt\u202e|4", patch=b"--- a/\xff\x00\n"):
        store = RunStore.create(
            tmp_path / "runs", configuration(agent="llm", attempts=len(attempts))
        )
        for number, exchanges in enumerate(attempts, start=1):
            found = record(attempt=number, agent="llm", model=model, patch=PATCH)
            folder, _ = store.attempt_folder(found.task_id, number)
            store.append(found, folder)
            (folder / "patch.diff").write_bytes(patch)
            log = folder / EXCHANGE_LOG
            log.parent.mkdir(parents=True)
            log.write_text("".join(f"{each.model_dump_json()}\n" for each in exchanges))
        return store.folder

    return make


def lined(exchanges):
    return [each.replace(line=number) for number, each in enumerate(exchanges, start=1)]


def talk(**changes):
    result = changes.get("result", RESULT)
    end = changes.get("end", ODD)
    return lined(
        [
            exchange([TASK], completion(CALL)),
            exchange([TASK, CALL, result], completion(says(end))),
        ]
    )


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for part in pair for text in texts_in(part))
    elif isinstance(value, list):
        yield from (text for each in value for text in texts_in(each))


@pytest.mark.parametrize("format_name", [ExportFormat.SFT, ExportFormat.ATIF, ExportFormat.PARQUET])
def test_unusual_characters_are_kept(exported, run, load, format_name):
    loaded = load(exported(format_name, run(talk(), talk()), unchecked=True))
    assert len(loaded) == 2
    for row in loaded:
        found = list(texts_in(row))
        assert found.count(ODD) >= 3  # two answers and the output; arguments are objects or JSON
        assert any(ODD in json.dumps(text) or text == ODD for text in found)


def test_line_of_the_file_is_a_row_for_every_reader(exported, run):
    folder = exported(ExportFormat.SFT, run(talk(), talk()), unchecked=True)
    text = (folder / "data" / "train.jsonl").read_text("utf-8")
    assert len(text.splitlines()) == 2


def test_lone_surrogates_and_bytes_that_are_no_text_are_replaced(exported, run, load):
    answer = json.dumps(completion(says("lone \ud800 surrogate")))
    assert "\\ud800" in answer
    attempt = talk()[:1]
    attempt[0] = attempt[0].replace(answer=answer)
    folder = exported(ExportFormat.PARQUET, run(attempt), unchecked=True)
    (row,) = load(folder)
    assert row["messages"][-1]["content"] == "lone ? surrogate"
    assert row["patch"] == "--- a/\ufffd\x00\n"


def test_huge_message_makes_no_example(exported, run, load):
    big = talk(result={**RESULT, "content": BIG})
    folder = exported(ExportFormat.PARQUET, run(big, talk()), unchecked=True)
    first, second = load(folder)
    assert (first["complete"], second["complete"]) == (False, True)
    assert TEXT_LIMIT < len(first["messages"][2]["content"]) < 2 * TEXT_LIMIT
    exported(ExportFormat.SFT, exported_run(folder), unchecked=True)
    assert exported.counts.left_out["its log lacks a part of a text"] == 1
    assert exported.counts.rows == 1


def exported_run(folder):
    (run,) = (folder.parent / "runs").iterdir()
    return run


def test_names_cannot_change_the_card(exported, run):
    attempt = talk()
    folder = exported(
        ExportFormat.SFT,
        run(attempt, model="---\n# license: mit | <script>"),
        unchecked=True,
        license="mit\n---\nevil: [",
    )
    text = (folder / "README.md").read_text()
    assert "<script>" not in text
    assert text.split("\n---\n")[0].count("evil") == 1
    assert "\nevil" not in text


def test_damaged_lines_of_a_log_are_skipped(exported, run):
    folder = run(talk())
    log = folder / "attempts" / "one" / "1" / EXCHANGE_LOG
    log.write_bytes(b"{\x00\n[]\n" + log.read_bytes() + b'{"line": 3, "ti')
    exported(ExportFormat.SFT, folder, unchecked=True)
    assert exported.counts.rows == 1


@pytest.mark.parametrize("record", [failed, lost])
def test_only_resolved_attempts_are_chats(exported, run, record):
    with pytest.raises(InputError, match="found none") as caught:
        exported(ExportFormat.SFT, run(talk(), record=record), unchecked=True)
    assert "1 left out: not selected by the filters" in str(caught.value)
    assert not exported.folder.exists()


def test_excluded_attempt_has_no_reward(exported, run, load):
    wanted = frozenset({VerdictKind.NO_VERDICT})
    folder = exported(
        ExportFormat.PARQUET, run(talk(), record=lost), unchecked=True, verdicts=wanted
    )
    assert load(folder)["reward"] == [None]
