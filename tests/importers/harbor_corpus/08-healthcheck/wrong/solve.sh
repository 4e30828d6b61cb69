#!/bin/bash
touch token
