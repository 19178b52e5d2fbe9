#!/usr/bin/env bash
# Installs Debian's oathtool, which the codes of second factors are compared with, if it is missing. Without it these
# tests are listed as ignored.
set -euo pipefail

if ! command -v oathtool > /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    {
        apt-get update
        apt-get install --yes --no-install-recommends oathtool
    } >&2
fi
