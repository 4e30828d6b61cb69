#!/bin/bash
touch second
