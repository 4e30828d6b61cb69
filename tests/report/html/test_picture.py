from agentbench.report.html.picture import brief, left_out, short


def test_labels_are_harmless_and_short():
    assert short("a\x1b[31mb\u202e") == "ab\\u202e"
    assert len(short("x" * 100)) == 34
    assert len(brief("x" * 1000)) == 600


def test_nothing_is_left_out_silently():
    assert left_out(5, 5) == ""
    assert "first 5 of 6 runs" in left_out(6, 5)
