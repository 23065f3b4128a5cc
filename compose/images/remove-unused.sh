#!/bin/sh
# remove-unused.sh FOLDER: takes out of every node_modules under it what no running program reads: ready-made libraries of other platforms, the
# sources that they were made from, declarations and other TypeScript, which Node takes from no package, source maps, tests
# and manuals. Licences stay.
set -eu
cd "$1"

keep="linux-$(node -p process.arch).node"
[ ! -e node_modules/better-sqlite3 ] || find node_modules/better-sqlite3/prebuilds -type f ! -name "$keep" -delete
rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src node_modules/node-addon-api
# The C library of this image is glibc.
rm -rf node_modules/@node-rs/*-musl

find . -path '*/node_modules/*' -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -iname '*.md' \
  -o -name '*.test.*' -o -name '*.h' \) \
  ! -iname 'licen[cs]e*' -delete
find . -path '*/node_modules/*' -type d \( -name test -o -name tests -o -name __tests__ -o -name docs -o -name examples \) \
  -prune -exec rm -rf {} +
# npm lays packages into the folders of programs, too, that are not in this image.
for each in */node_modules; do
  [ -e "${each%/*}/package.json" ] || rm -rf "${each%/*}"
done
rm -f package-lock.json node_modules/.package-lock.json
