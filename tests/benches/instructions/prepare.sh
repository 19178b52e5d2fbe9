#!/usr/bin/env bash
# Installs valgrind from Debian's packages where it is missing.
set -euo pipefail

if ! command -v valgrind > /dev/null || ! command -v callgrind_control > /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update >&2
    apt-get install --yes --no-install-recommends valgrind >&2
fi
