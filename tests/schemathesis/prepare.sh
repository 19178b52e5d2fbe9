#!/usr/bin/env bash
# Installs Schemathesis below `target`, and prints its program. Needs Python 3.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Pinned, so that a new check fails nothing before it has been reviewed.
VERSION=4.32.5

tool=$PWD/target/schemathesis
if [[ ! -x $tool/bin/schemathesis ]] || [[ $("$tool/bin/schemathesis" --version) != *" $VERSION" ]]; then
    python3 -m venv "$tool" >&2
    "$tool/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$VERSION" >&2
fi
echo "$tool/bin/schemathesis"
