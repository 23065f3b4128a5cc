#!/usr/bin/env bash
# The part of the official entry point that we use: POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB (or the same with
# _FILE), a cluster made once in $PGDATA, and `postgres -c …` as the command. No scripts of /docker-entrypoint-initdb.d.
set -euo pipefail

case "$1" in
  -*) set -- postgres "$@" ;;
esac
[ "$1" = postgres ] || exec "$@"

# value_of NAME DEFAULT: what NAME says, or the file that NAME_FILE names.
value_of() {
  local file="$1_FILE"
  if [ -n "${!1:-}" ] && [ -n "${!file:-}" ]; then
    echo "set $1 or $file, not both" >&2
    return 1
  elif [ -n "${!file:-}" ]; then
    cat "${!file}"
  else
    printf '%s' "${!1:-$2}"
  fi
}

# Read before root is given up: a secret's file may be readable to root alone.
user=$(value_of POSTGRES_USER postgres)
password=$(value_of POSTGRES_PASSWORD '')
database=$(value_of POSTGRES_DB "$user")
unset POSTGRES_USER_FILE POSTGRES_PASSWORD_FILE POSTGRES_DB_FILE

mkdir -p "$PGDATA" /run/postgresql
if [ "$(id -u)" = 0 ]; then
  chown -R postgres "$PGDATA" /run/postgresql
  chmod 3775 /run/postgresql || true
  export POSTGRES_USER=$user POSTGRES_PASSWORD=$password POSTGRES_DB=$database
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
chmod 700 "$PGDATA" || true

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "$password" ]; then
    echo 'an empty data folder, and no password: set POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE' >&2
    exit 1
  fi
  # initdb wants a name for the user it runs as; with `user: 1234` there is none.
  preload=
  if ! getent passwd "$(id -u)" >/dev/null; then
    preload=$(find /usr/lib -name libnss_wrapper.so)
    export NSS_WRAPPER_PASSWD=/tmp/passwd NSS_WRAPPER_GROUP=/etc/group
    echo "postgres:x:$(id -u):$(id -g)::$PGDATA:/bin/false" >/tmp/passwd
  fi
  LD_PRELOAD=$preload initdb --username="$user" --pwfile=<(printf '%s\n' "$password")
  unset NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  # As the official image: who counts "ready to accept connections" finds two, the second when the port is open.
  pg_ctl -w -o "-c listen_addresses=''" start
  [ "$database" = postgres ] || createdb --username="$user" --maintenance-db=postgres -- "$database"
  pg_ctl -w -m fast stop
fi

unset POSTGRES_PASSWORD
exec "$@"
