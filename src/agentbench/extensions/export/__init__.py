"""Data sets for training from the attempts of runs: trajectories, chats, pairs, tables."""
