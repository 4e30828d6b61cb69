from agentbench.report.html.drawing import brief, omitted_runs_note, short


def test_labels_are_harmless_and_short():
    assert short("a\x1b[31mb\u202e") == "ab\\u202e"
    assert len(short("x" * 100)) == 34
    assert len(brief("x" * 1000)) == 600


def test_nothing_is_left_out_silently():
    assert omitted_runs_note(40) == ""
    assert "first 40 of 41 runs" in omitted_runs_note(41)
