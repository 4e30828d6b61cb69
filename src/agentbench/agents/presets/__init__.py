"""Presets: other people's agents as data, each with the door to its model as its only way out."""
