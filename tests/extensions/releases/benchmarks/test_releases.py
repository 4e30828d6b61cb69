from agentbench.extensions.releases.package_index import read_requested_releases
from agentbench.extensions.releases.release_import import ImportedPair
from agentbench.importers.candidates import CandidateOutcome
from benchmarks.releases import PAIRS, table


def test_every_pair_that_is_tried_is_one(tmp_path):
    (tmp_path / "pairs").write_text(PAIRS)
    wanted, refused = read_requested_releases(tmp_path / "pairs")
    assert refused == []
    assert len(wanted) >= 20
    assert all(pair.old and pair.new for pair in wanted)


def test_the_table_has_what_was_kept_first_and_counts():
    entries = [
        ImportedPair(
            package="a", old="1", new="2", fate=CandidateOutcome.REJECTED, reasons=("no | tests",)
        ),
        ImportedPair(package="b", old="1", new="2", fate=CandidateOutcome.KEPT, fail_to_pass=3),
    ]
    assert table(entries).splitlines()[2:] == [
        "| b | 1 | 2 | kept | 3 |",
        "| a | 1 | 2 | rejected | no / tests |",
        "",
        "2 tried, 1 kept.",
    ]


def test_a_long_reason_is_cut():
    entry = ImportedPair(package="a", fate=CandidateOutcome.REJECTED, reasons=("x" * 200,))
    assert "x… |" in table([entry])
