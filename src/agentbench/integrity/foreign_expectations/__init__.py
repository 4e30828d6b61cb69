"""Changes what tests in Go, JavaScript and TypeScript expect: docs/integrity.md."""
