#!/bin/bash
mkdir answers
echo Paris > answers/france
echo Milan > answers/italy
