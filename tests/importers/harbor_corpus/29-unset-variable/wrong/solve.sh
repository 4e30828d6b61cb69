#!/bin/bash
touch undone
