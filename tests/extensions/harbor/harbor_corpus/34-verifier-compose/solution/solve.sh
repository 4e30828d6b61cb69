#!/bin/bash
mkdir answers
echo Paris > answers/france
echo Rome > answers/italy
