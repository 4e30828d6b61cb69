from hypothesis import given
from hypothesis import strategies as st

from agentbench.sandbox.supervise import OutputCapture


@given(st.lists(st.binary(max_size=40), max_size=40), st.integers(1, 100))
def test_head_and_tail_are_kept_however_the_bytes_arrive(chunks: list[bytes], cap: int) -> None:
    capture = OutputCapture(cap)
    for chunk in chunks:
        capture.feed(chunk)
    whole = b"".join(chunks)
    assert capture.total == len(whole)
    assert capture.truncated == (len(whole) > cap)
    if not capture.truncated:
        assert capture.text() == whole.decode("utf-8", "replace")
    else:
        head, tail = whole[: cap - cap // 2], whole[len(whole) - cap // 2 :]
        assert capture.text().startswith(head.decode("utf-8", "replace"))
        assert capture.text().endswith(tail.decode("utf-8", "replace"))


def test_the_cut_says_how_much_is_missing() -> None:
    capture = OutputCapture(10)
    capture.feed(b"01234567890123456789x")
    assert capture.text() == "01234\n[... 11 bytes cut out here ...]\n6789x"
