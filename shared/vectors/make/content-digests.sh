# Content-Digest against a body (protocol section 3, RFC 9530).
open_file content-digests.json 'Values of Content-Digest held against a body. The body is UTF-8 text.'

requirement_of() { if [ "$1" = digest_mismatch ]; then printf SIG-52; else printf SIG-51; fi; }

BODY='{"op":"tokens.get","serviceName":"github"}'
D256=$(digest_of "$BODY")
D512=$(digest_of "$BODY" sha512)

digest_vector() { # reason ('' for accept), name, body, value
  write_vector "\"name\": $(js "$2"), $(expectation "$1"), \"body\": $(js "$3"), \"value\": $(js "$4")"
}
digest_vector '' 'sha-256' "$BODY" "sha-256=:$D256:"
digest_vector '' 'an empty body' '' "sha-256=:$(digest_of ''):"
digest_vector '' 'a body beyond ASCII' '{"name":"Schlüssel 🔑"}' "sha-256=:$(digest_of '{"name":"Schlüssel 🔑"}'):"
digest_vector '' 'another algorithm before it is ignored' "$BODY" "sha-512=:$D512:, sha-256=:$D256:"
digest_vector '' 'another algorithm after it is ignored, right or wrong' "$BODY" "sha-256=:$D256:,md5=:AAAAAAAAAAAAAAAAAAAAAA==:"
digest_vector digest_mismatch 'of another body' "$BODY" "sha-256=:$(digest_of 'x'):"
digest_vector digest_mismatch 'of the body with a line feed after it' "$BODY" "sha-256=:$(digest_of "$BODY
"):"
digest_vector digest_mismatch 'of no body' "$BODY" "sha-256=:$(digest_of ''):"
digest_vector digest_mismatch 'half a digest' "$BODY" "sha-256=:$(printf '%s' "$BODY" | openssl dgst -sha256 -binary | head -c 16 | base64_of):"
digest_vector digest_malformed 'another algorithm alone' "$BODY" "sha-512=:$D512:"
digest_vector digest_malformed 'sha-256 twice' "$BODY" "sha-256=:$D256:, sha-256=:$D256:"
digest_vector digest_malformed 'sha-256 twice, the first one wrong' "$BODY" "sha-256=:$(digest_of 'x'):, sha-256=:$D256:"
digest_vector digest_malformed 'the name in capitals' "$BODY" "SHA-256=:$D256:"
digest_vector digest_malformed 'the older form, without colons' "$BODY" "sha-256=$D256"
digest_vector digest_malformed 'a string and no byte sequence' "$BODY" "sha-256=\"$D256\""
digest_vector digest_malformed 'without padding' "$BODY" "sha-256=:${D256%=}:"
digest_vector digest_malformed 'the alphabet of base64url' "$BODY" "sha-256=:$(printf '%s' "$D256" | tr '+/' '-_'):"
digest_vector digest_malformed 'nothing at all' "$BODY" ''
digest_vector digest_malformed 'a comma at the end' "$BODY" "sha-256=:$D256:,"
close_file
