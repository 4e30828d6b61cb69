"""What every layer uses: schemas, files, locks, checksums and untrusted text."""
