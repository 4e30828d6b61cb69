"""What runs came to, for people and programs: rates, tables, comparisons, documents."""
