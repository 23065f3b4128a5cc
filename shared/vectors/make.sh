#!/bin/bash
# Makes the vectors with the openssl command line alone, so that they owe nothing to our code; make/sealed.py makes those of
# sealed delivery, which that has no cipher for, with Python's `cryptography`, make/approvals.py those of approvals, and
# make/audit-chain.py those of the audit log.
# Frozen: running this again changes no byte. Usage: shared/vectors/make.sh
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")"

# 2026-01-01T00:00:00Z
NOW=1767225600
# Nobody's key: 00 01 02 … 1f.
KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
OTHER_KEY=ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f

base64_of() { openssl base64 -A; }
base64url_of() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
hmac() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary; } # key in hex; text on stdin
digest_of() { printf '%s' "$1" | openssl dgst "-${2:-sha256}" -binary | base64_of; }

# A JSON string.
js() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  text=${text//$'\t'/\\t}
  printf '"%s"' "$text"
}

# Opens a file of vectors: name, what it is about.
SEPARATOR=
open_file() {
  exec 3> "$1"
  printf '{\n  "about": %s,\n  "vectors": [' "$(js "$2")" >&3
  SEPARATOR=
}
close_file() {
  printf '\n  ]\n}\n' >&3
  exec 3>&-
}
# Writes one vector: its members, already JSON, without braces.
write_vector() {
  printf '%s\n    { %s }' "$SEPARATOR" "$1" >&3
  SEPARATOR=, BREAKS=
}
# The members that say what is expected: "accept", or "refuse" with the reason for the log and the requirement of
# PROTOCOL.md that is broken: BREAKS where it is set, else what the reason stands for in this file.
BREAKS=
expectation() {
  if [ -z "$1" ]; then
    printf '"expect": "accept"'
  else
    printf '"expect": "refuse", "reason": %s, "breaks": "%s"' "$(js "$1")" "${BREAKS:-$(requirement_of "$1")}"
  fi
}

. make/content-digests.sh
. make/request-signatures.sh
. make/tickets.sh
. make/published.sh
