#!/bin/sh
# Options and a settings file are for valkey-server, which gives up root; protected mode is off, as in the official image.
set -eu
case "$1" in
  -* | *.conf) set -- valkey-server "$@" ;;
esac
[ "$1" = valkey-server ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  chown -R valkey .
  exec setpriv --reuid valkey --regid valkey --clear-groups "$0" "$@"
fi
umask 0077
case " $* " in
  *' --protected-mode '*) exec "$@" ;;
esac
exec "$@" --protected-mode no
