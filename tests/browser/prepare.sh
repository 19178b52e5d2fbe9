#!/usr/bin/env bash
# Installs the requirements of the tests in a browser, and prints their folder, the value of
# TEST_BROWSER: Chromium without a window and its driver from Debian's packages, if they are missing,
# and axe-core, which checks the accessibility of pages, from the npm registry.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Pinned, so that a new rule fails no test before it has been reviewed.
AXE=4.14.1

folder=$PWD/target/browser
mkdir -p "$folder"

if ! command -v chromium-headless-shell > /dev/null || ! command -v chromedriver > /dev/null || ! command -v npm > /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    {
        apt-get update
        apt-get install --yes --no-install-recommends chromium-headless-shell chromium-driver
        command -v npm || apt-get install --yes --no-install-recommends npm
    } >&2
fi

if [[ ! -s $folder/axe-$AXE.js ]]; then
    npm pack --silent --pack-destination "$folder" "axe-core@$AXE" >&2
    tar --extract --gzip --file "$folder/axe-core-$AXE.tgz" --to-stdout package/axe.min.js > "$folder/axe-$AXE.tmp"
    mv "$folder/axe-$AXE.tmp" "$folder/axe-$AXE.js"
    rm "$folder/axe-core-$AXE.tgz"
fi
cp "$folder/axe-$AXE.js" "$folder/axe.js"
echo "$folder"
