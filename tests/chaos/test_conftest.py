"""The seed of a session is one number, the same in every test."""

import os


def test_the_seed_is_that_of_the_environment(chaos_seed):
    assert str(chaos_seed) == os.environ["AGENTBENCH_CHAOS_SEED"]


def test_all_counts_are_wanted_only_in_the_soak(whole, pytestconfig):
    assert whole == (pytestconfig.getoption("--tier") == "soak")
