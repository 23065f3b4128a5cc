#!/bin/sh
# Options and script files are for node; anything else that can be run is run as it is.
set -eu
if [ -f "$1" ] && [ ! -x "$1" ]; then
  exec node "$@"
fi
case "$1" in
  -*) exec node "$@" ;;
esac
command -v -- "$1" >/dev/null || exec node "$@"
exec "$@"
