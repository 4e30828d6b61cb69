#!/bin/bash
echo "the rain falls" > draft.txt
