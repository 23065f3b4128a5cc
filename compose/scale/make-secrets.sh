#!/bin/sh
# Makes the secrets of compose.yaml that are missing in secrets/, each readable by its owner alone. What is there stays.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets

# 32 random bytes in base64url.
random() { head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }
# keep NAME: stdin becomes that file unless it exists; whole or not at all.
keep() {
  if [ -e "secrets/$1" ]; then cat >/dev/null; return; fi
  cat >"secrets/.$1.tmp"
  mv "secrets/.$1.tmp" "secrets/$1"
  echo "made secrets/$1"
}

random | keep master.key
printf 'svadmin_%s' "$(random)" | keep admin.key
random | keep postgres.password
printf 'postgres://svault:%s@postgres:5432/svault' "$(cat secrets/postgres.password)" | keep database.url

if [ ! -e secrets/redis.url ] || [ ! -e secrets/valkey.conf ]; then
  password=$(random)
  rm -f secrets/redis.url secrets/valkey.conf
  printf 'redis://:%s@valkey:6379' "$password" | keep redis.url
  printf 'requirepass %s\ndir /data\nsave ""\nappendonly yes\nappendfsync everysec\nmaxmemory-policy noeviction\n' "$password" | keep valkey.conf
  # Valkey reads it as a user of its own; the folder keeps all others out.
  chmod 644 secrets/valkey.conf
fi
