"""Reports on runs, for people and programs: rates, tables, comparisons, documents."""
