from agentbench.report.html.picture import brief, omitted_runs_note, short


def test_labels_are_harmless_and_short():
    assert short("a\x1b[31mb\u202e") == "ab\\u202e"
    assert len(short("x" * 100)) == 34
    assert len(brief("x" * 1000)) == 600


def test_nothing_is_left_out_silently():
    assert omitted_runs_note(5, 5) == ""
    assert "first 5 of 6 runs" in omitted_runs_note(6, 5)
