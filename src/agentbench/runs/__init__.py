"""Runs: many attempts of one agent at some tasks, scheduled, resumed and recorded in one folder."""
