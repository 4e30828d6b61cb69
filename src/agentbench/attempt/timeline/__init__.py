"""The states of an agent's workspace over time, and the tests that each of them passes."""
