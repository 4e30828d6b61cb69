#!/bin/bash
set -e
export PATH=$PATH:/usr/sbin:/sbin
dpkg -i /opt/greeter.deb
echo lang=de > /etc/greeter.conf
ln -s /usr/bin/greeter /usr/local/bin/hallo
useradd --system greeter
