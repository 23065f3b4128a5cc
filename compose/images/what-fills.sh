#!/bin/sh
# What our part of an image is filled with, in KiB, the largest first: sh compose/images/what-fills.sh [IMAGE …]
set -eu

for image in "${@:-svault-control-plane:0.1.0}"; do
  echo "$image: $(docker image inspect -f '{{.Size}}' "$image") bytes with its base"
  docker run --rm --network none --entrypoint sh "$image" -c '
    cd /svault
    du -sk --apparent-size */src compiled node_modules/[!@]* node_modules/@*/* 2> /dev/null | sort -rn | head -25
    du -sk --apparent-size .'
done
