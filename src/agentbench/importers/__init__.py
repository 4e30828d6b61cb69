"""What the importers of tasks share, which are extensions."""
