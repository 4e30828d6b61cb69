#!/bin/bash
touch first
