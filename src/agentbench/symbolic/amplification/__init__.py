"""More tests made of those that there are: with other values, they show what else a fix does."""
