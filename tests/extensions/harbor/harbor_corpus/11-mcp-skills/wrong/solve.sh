#!/bin/bash
printf '%s\n' 'buy a lemon' 2026 'signed: me' > note.txt
