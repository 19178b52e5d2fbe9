#!/usr/bin/env bash
# Gets what the tests in a browser need, and prints the folder that it is in, which is what
# TEST_BROWSER names: Chromium with its driver from Debian's packages, where they are missing, and
# axe-core, which looks at pages as people need to who cannot see them, from the registry of npm.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Pinned, so that a new rule of it fails no test before somebody has looked at it.
AXE=4.14.1

folder=$PWD/target/browser
mkdir -p "$folder"

if ! command -v chromium > /dev/null || ! command -v chromedriver > /dev/null || ! command -v npm > /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    {
        apt-get update
        apt-get install --yes --no-install-recommends chromium chromium-driver
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
