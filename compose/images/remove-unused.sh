#!/bin/sh
# Takes out of every node_modules under /svault what no running program reads: ready-made libraries of other platforms, the
# sources that they were made from, declarations, source maps, tests and manuals. Licences stay.
set -eu
cd /svault

keep="linux-$(node -p process.arch).node"
find node_modules/better-sqlite3/prebuilds -type f ! -name "$keep" -delete
rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src
# The C library of this image is glibc.
rm -rf node_modules/@node-rs/*-musl

find . -path '*/node_modules/*' -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -name '*.md' \) \
  ! -iname 'licen[cs]e*' -delete
find . -path '*/node_modules/*' -type d \( -name test -o -name tests -o -name __tests__ -o -name docs -o -name examples \) \
  -prune -exec rm -rf {} +
rm -f package-lock.json
