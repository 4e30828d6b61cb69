"""Runs as one HTML file: pictures, tables and a little script, none of it from elsewhere."""
