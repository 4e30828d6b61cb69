"""What an agent did, told in ATIF, whatever agent it was: read from what passed by its door."""
