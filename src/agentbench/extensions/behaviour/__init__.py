"""What an agent did, as tags with evidence. Nothing here decides a verdict."""
