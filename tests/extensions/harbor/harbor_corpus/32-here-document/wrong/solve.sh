#!/bin/bash
cp /srv/made/words.txt words.txt
