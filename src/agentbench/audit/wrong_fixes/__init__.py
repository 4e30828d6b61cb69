"""Is a fix right beyond its tests: what agents wrote, compared with reference fixes by running."""
