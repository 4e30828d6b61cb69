#!/bin/bash
cat /srv/made/words.txt >> words.txt
