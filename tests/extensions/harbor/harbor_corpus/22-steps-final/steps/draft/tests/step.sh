[ "$(stat -c %U draft.txt)" = drafter ]
