#!/bin/sh
helm upgrade --install linkerd-control-plane linkerd-edge/linkerd-control-plane --version 2026.8.2 -n linkerd -f linkerd/values.yaml
