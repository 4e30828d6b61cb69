import random
from concurrent.futures import ThreadPoolExecutor

from agentbench.core.files import read_or_create_identity


def test_a_folder_keeps_its_name_and_another_has_another(tmp_path):
    name = read_or_create_identity(tmp_path / "one")
    assert len(name) == 32
    assert read_or_create_identity(tmp_path / "one") == name
    assert read_or_create_identity(tmp_path / "two") != name


def test_all_that_ask_at_once_get_the_same(tmp_path):
    with ThreadPoolExecutor(16) as threads:
        names = set(threads.map(lambda _: read_or_create_identity(tmp_path / "one"), range(200)))
    assert len(names) == 1
    assert (tmp_path / "one").read_text() == names.pop()


def test_what_is_damaged_is_made_again(tmp_path):
    path, draw = tmp_path / "one", random.Random(1)
    for damaged in (b"", b"short", b"\xff" * 32, draw.randbytes(4000), b"g" * 32):
        path.write_bytes(damaged)
        name = read_or_create_identity(path)
        assert len(name) == 32
        assert read_or_create_identity(path) == name
