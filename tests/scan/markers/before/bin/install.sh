#!/bin/sh
set -eu
export LINKERD2_VERSION="edge-26.8.2" # uplinker: edge
curl -sL https://run.linkerd.io/install-edge | sh
echo "# uplinker: edge" "edge-26.8.2"
