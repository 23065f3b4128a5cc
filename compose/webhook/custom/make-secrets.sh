#!/bin/sh
# Makes the secrets of compose.yaml that are missing in secrets/, each readable by its owner alone. Existing files stay.
set -eu
umask 077
CDPATH= cd -- "$(dirname -- "$0")"

stop() {
  echo "make-secrets: $1" >&2
  exit 1
}

# The containers run as SVAULT_UID, who has to own secrets/. Root gives them away; 0 is you in an engine that runs rootless.
[ -e .env ] || stop 'first: cp .env.example .env, and set what it needs'
number() {
  sed -n "s/^$1=[\"']*\([0-9]*\).*/\1/p" .env
}
uid=$(number SVAULT_UID)
gid=$(number SVAULT_GID)
case $uid:$gid in
  :* | *:) stop 'set SVAULT_UID and SVAULT_GID in .env' ;;
esac
me=$(id -u)
[ "$me" = 0 ] || [ "$uid" = 0 ] || [ "$uid" = "$me" ] ||
  stop "set SVAULT_UID=$me and SVAULT_GID=$(id -g) in .env: they own these files"

folder() {
  mkdir -p "$1"
  chmod 700 "$1"
  [ "$me" != 0 ] || chown "$uid:$gid" "$1"
}
folder secrets
half=secrets/.half.$$
trap 'rm -f "$half"' EXIT
trap 'exit 1' HUP INT TERM

# 32 random bytes in base64url.
random() {
  text=$(head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n')
  [ "${#text}" -eq 43 ] || stop 'there are no random bytes'
  printf %s "$text"
}
# keep NAME TEXT [MODE]: makes secrets/NAME, unless it is there.
keep() {
  [ ! -e "secrets/$1" ] || return 0
  printf %s "$2" >"$half"
  chmod "${3:-600}" "$half"
  [ "$me" != 0 ] || chown "$uid:$gid" "$half"
  ln "$half" "secrets/$1"
  rm "$half"
  echo "made secrets/$1"
}

folder backups

value=$(random)
keep master.key "$value"
value=$(random)
keep setup.token "$value"
