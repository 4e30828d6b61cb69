#!/bin/bash
id -un > who.txt  # not an artifact
[ "$(id -un)" = editor ] && sed 's/^./\U&/; s/$/./' draft.txt > final.txt
