#!/bin/bash
touch second third
