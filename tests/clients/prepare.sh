#!/usr/bin/env bash
# Installs the generators of typed clients with what generated clients and receivers of webhooks need, as their
# lock files name it, and prints their folder, the value of TEST_CLIENTS. Needs npm and Python 3 with venv, and
# gets them from Debian's packages if they are missing.
set -euo pipefail
cd "$(dirname "$0")/../.."

sources=$PWD/tests/clients
folder=$PWD/target/clients
mkdir -p "$folder/typescript"

if ! command -v npm > /dev/null || ! python3 -c 'import ensurepip, venv' 2> /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    {
        apt-get update
        apt-get install --yes --no-install-recommends npm python3-venv
    } >&2
fi

# The lock file is copied last, so that an installation that broke off is repeated.
installed() { cmp --silent "$1" "$2"; }

lock=package-lock.json
if ! installed "$sources/typescript/$lock" "$folder/typescript/installed"; then
    cp "$sources/typescript/"{.npmrc,package.json,$lock} "$folder/typescript"
    npm ci --prefix "$folder/typescript" --no-audit --no-fund --loglevel=error >&2
    cp "$sources/typescript/$lock" "$folder/typescript/installed"
fi

lock=requirements.txt
if ! installed "$sources/python/$lock" "$folder/python/installed"; then
    python3 -m venv --clear "$folder/python"
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check --no-deps \
        --requirement "$sources/python/$lock" >&2
    cp "$sources/python/$lock" "$folder/python/installed"
fi
echo "$folder"
