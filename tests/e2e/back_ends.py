"""On which back ends a test of both runs, in the gate and in the soak."""

import pytest

_IN_THE_SOAK = pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.soak])

one_back_end = pytest.mark.parametrize("bench", ["bubblewrap", _IN_THE_SOAK], indirect=True)
"""Marks a test of what the back end has no part in: the gate tries bubblewrap, the soak both."""
