#!/bin/bash
[ -z "$ENDING" ] && echo "$GREETING $WHOM$MARK" > greeting.txt
