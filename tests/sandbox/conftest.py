"""Makes failed assertions of the conformance suite as telling as those of tests."""

import pytest

pytest.register_assert_rewrite(
    "tests.sandbox.conformance",
    "tests.sandbox.conformance_commands",
    "tests.sandbox.conformance_endings",
    "tests.sandbox.conformance_isolation",
    "tests.sandbox.conformance_limits",
    "tests.sandbox.conformance_snapshots",
    "tests.sandbox.conformance_trees",
)
