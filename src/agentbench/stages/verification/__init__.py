"""Verification: taking an agent's work out of its sandbox and judging it in a fresh one."""
