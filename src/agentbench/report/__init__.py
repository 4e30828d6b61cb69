"""Reports: records as table, JSON, CSV and Markdown."""
