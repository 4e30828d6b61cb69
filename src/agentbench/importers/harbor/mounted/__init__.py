"""What an exported Harbor task runs by itself: a pytest plug-in."""
