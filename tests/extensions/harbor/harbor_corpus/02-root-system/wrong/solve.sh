#!/bin/bash
echo lang=de > /etc/greeter.conf
dpkg -x /opt/greeter.deb /  # unpacked, but not installed
ln -s /usr/bin/greeter /usr/local/bin/hallo
