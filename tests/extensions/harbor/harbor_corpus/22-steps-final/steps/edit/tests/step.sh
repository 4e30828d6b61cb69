[ "$(cat final.txt)" = "$(sed 's/^./\U&/; s/$/./' draft.txt)" ] && [ ! -e who.txt ]
