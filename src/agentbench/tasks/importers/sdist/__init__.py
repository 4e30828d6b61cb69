"""Source distributions: unpacked without running anything, and compared."""
