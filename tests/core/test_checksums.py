import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agentbench.core.checksums import ChecksummedDocument, has_checksum, sources_checksum


class Note(ChecksummedDocument):
    text: str = ""
    numbers: tuple[int, ...] = ()


NOTE = Note(text='a "digest":"sha256:' + "0" * 64 + '"}\x9b ünd', numbers=(1, 2))
FORMS = [
    NOTE.json_with_checksum(),
    NOTE.json_with_checksum() + "\n",
    NOTE.json_with_checksum(indent=1) + "\n",
]


@pytest.mark.parametrize("text", FORMS)
def test_the_digest_is_the_last_field_and_over_the_bytes_before_it(text):
    assert list(json.loads(text))[-1] == "digest"
    head = text.encode()[: text.encode().rindex(b'"digest"')]
    assert json.loads(text)["digest"] == f"sha256:{hashlib.sha256(head).hexdigest()}"
    assert Note.model_validate_json(text) == Note.model_validate_json(text.encode()) == NOTE
    assert has_checksum(text.encode())


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("bit", [1, 2, 4, 16, 32, 128])
def test_one_flipped_bit_anywhere_is_seen(text, bit):
    content = text.encode()
    for at in range(len(content.rstrip())):
        changed = content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]
        with pytest.raises(ValidationError):
            Note.model_validate_json(changed)


@pytest.mark.parametrize("text", FORMS)
def test_a_cut_anywhere_is_seen(text):
    content = text.encode().rstrip()
    for at in range(len(content)):
        with pytest.raises(ValidationError):
            Note.model_validate_json(content[:at])


def test_a_document_from_before_there_were_digests_is_read():
    text = Note(text="old").model_dump_json()
    assert Note.model_validate_json(text).text == "old"
    assert not has_checksum(text.encode())


def test_the_complaint_says_what_is_there_and_what_should_be():
    changed = NOTE.json_with_checksum().replace("[1,2]", "[1,3]")
    said = r"says sha256:\w{12}…, but the content has sha256:\w{12}…: the file was damaged"
    with pytest.raises(ValidationError, match=said) as caught:
        Note.model_validate_json(changed)
    assert caught.value.errors()[0]["type"] == "digest"


def test_a_document_that_somebody_formatted_anew_says_so():
    text = json.dumps(json.loads(NOTE.json_with_checksum()))
    with pytest.raises(
        ValidationError,
        match="is not written the way agentbench writes it: damaged, or reformatted",
    ):
        Note.model_validate_json(text)


def test_the_digest_is_in_the_schema_and_not_in_the_value():
    schema = Note.model_json_schema(mode="serialization")
    assert re.fullmatch(schema["properties"]["digest"]["pattern"], f"sha256:{'0' * 64}")
    assert "digest" not in schema.get("required", [])
    assert "digest" not in NOTE.model_dump()


@given(st.builds(Note, text=st.text(), numbers=st.lists(st.integers()).map(tuple)))
def test_any_document_comes_back(note):
    assert Note.model_validate_json(note.json_with_checksum()) == note
    assert Note.model_validate_json(note.json_with_checksum(indent=1)) == note


def test_the_checksum_of_sources_changes_with_their_names_and_contents(tmp_path):
    def checksum(name, files):
        for path, text in files.items():
            path = tmp_path / name / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return sources_checksum(tmp_path / name)

    first = checksum("first", {"a.py": "x = 1\n", "b/c.py": "y = 2\n"})
    assert checksum("same", {"b/c.py": "y = 2\n", "a.py": "x = 1\n", "a.pyc": "0"}) == first
    others = ({"a.py": "x = 1\n"}, {"a.py": "x = 1\n", "b/c.py": "y = 3\n"})
    others += ({"a.py": "x = 1\n", "b/d.py": "y = 2\n"},)
    found = [checksum(f"other{number}", files) for number, files in enumerate(others)]
    assert len({first, *found}) == 4
