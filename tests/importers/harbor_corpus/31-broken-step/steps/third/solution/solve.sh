#!/bin/bash
touch third
