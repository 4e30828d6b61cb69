"""The six stages of an attempt; each returns evidence."""
