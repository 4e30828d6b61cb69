#!/bin/bash
echo "$GREETING moon$MARK" > greeting.txt
