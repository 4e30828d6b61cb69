"""The base that every layer uses: schemas, files, locks, checksums and untrusted text."""
