# Facts published by others; openssl says that they are copied right.
exec 3> published.json
check() { [ "$1" = "$2" ] || { echo "published fact does not hold: $3" >&2; exit 1; }; }

B25_KEY='uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=='
B25_PARAMS='("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"'
B25_BASE=$(printf '"date": Tue, 20 Apr 2021 02:07:55 GMT\n"@authority": example.com\n"content-type": application/json\n"@signature-params": %s' "$B25_PARAMS")
B25_MAC='pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8='
B25_HEX=$(printf '%s' "$B25_KEY" | openssl base64 -d -A | od -An -tx1 | tr -d ' \n')
check "$(printf '%s' "$B25_BASE" | hmac "$B25_HEX" | base64_of)" "$B25_MAC" 'RFC 9421 B.2.5'

A1_KEY='AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow'
A1_INPUT='eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ'
A1_MAC='dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
A1_HEX=$(printf '%s==' "$A1_KEY" | tr '_-' '/+' | openssl base64 -d -A | od -An -tx1 | tr -d ' \n')
check "$(printf '%s' "$A1_INPUT" | hmac "$A1_HEX" | base64url_of)" "$A1_MAC" 'RFC 7515 A.1'

TOTP=''
totp() { # algorithm, time in seconds, code of eight digits
  local seed hex mac offset
  case $1 in
    SHA1) seed=12345678901234567890 ;;
    SHA256) seed=12345678901234567890123456789012 ;;
    SHA512) seed=1234567890123456789012345678901234567890123456789012345678901234 ;;
  esac
  hex=$(printf '%s' "$seed" | od -An -v -tx1 | tr -d ' \n')
  mac=$(printf "$(printf '%016x' $(($2 / 30)) | sed 's/../\\x&/g')" | openssl dgst "-$(printf '%s' "$1" | tr 'A-Z' 'a-z')" -mac HMAC -macopt "hexkey:$hex" -binary | od -An -v -tx1 | tr -d ' \n')
  offset=$((16#${mac: -1} * 2))
  check "$(printf '%08d' $(((16#${mac:offset:8} & 0x7fffffff) % 100000000)))" "$3" "RFC 6238 appendix B, $1 at $2"
  TOTP+="${TOTP:+,}
      { \"algorithm\": \"$1\", \"seed\": \"$seed\", \"digits\": 8, \"period\": 30, \"time\": $2, \"code\": \"$3\" }"
}
totp SHA1 59 94287082; totp SHA256 59 46119246; totp SHA512 59 90693936
totp SHA1 1111111109 07081804; totp SHA256 1111111109 68084774; totp SHA512 1111111109 25091201
totp SHA1 1111111111 14050471; totp SHA256 1111111111 67062674; totp SHA512 1111111111 99943326
totp SHA1 1234567890 89005924; totp SHA256 1234567890 91819424; totp SHA512 1234567890 93441116
totp SHA1 2000000000 69279037; totp SHA256 2000000000 90698825; totp SHA512 2000000000 38618901
totp SHA1 20000000000 65353130; totp SHA256 20000000000 77737706; totp SHA512 20000000000 47863826

cat >&3 << EOF
{
  "about": "Facts published by others: an HMAC signature of a request, a JWS, and time-based one-time codes.",
  "rfc9421-b.2.5": {
    "key": $(js "$B25_KEY"),
    "request": { "method": "POST", "authority": "example.com", "path": "/foo", "query": "?param=Value&Pet=dog",
      "headers": [["Host", "example.com"], ["Date", "Tue, 20 Apr 2021 02:07:55 GMT"], ["Content-Type", "application/json"], ["Content-Length", "18"]],
      "body": "{\"hello\": \"world\"}" },
    "components": ["date", "@authority", "content-type"],
    "signatureParams": $(js "$B25_PARAMS"),
    "signatureBase": $(js "$B25_BASE"),
    "mac": $(js "$B25_MAC")
  },
  "rfc7515-a.1": {
    "key": $(js "$A1_KEY"),
    "signingInput": $(js "$A1_INPUT"),
    "mac": $(js "$A1_MAC")
  },
  "rfc6238-b": [$TOTP
  ]
}
EOF
exec 3>&-
