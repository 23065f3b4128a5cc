# Signed requests (protocol section 3, RFC 9421). In a refused one a single clause is broken; where the MAC is not the
# point, it is right for what was sent.
open_file request-signatures.json 'Signed requests. key: the key of keyid, in hex; now: the seconds at the webhook; authority, path: of the webhook as it knows itself; signatureBase: what the sender made its MAC over.'

requirement_of() {
  case $1 in
    signature_*_missing | signature_missing | signature_*_repeated | signature_repeated) printf SIG-26 ;;
    label | signature_*_malformed | signature_malformed) printf SIG-27 ;;
    algorithm) printf SIG-31 ;;
    tag) printf SIG-32 ;;
    parameter_missing) printf SIG-28 ;;
    parameter_unknown) printf SIG-30 ;;
    created | expires) printf SIG-34 ;;
    nonce) printf SIG-35 ;;
    key_id) printf SIG-37 ;;
    component_missing) printf SIG-05 ;;
    component_unknown) printf SIG-08 ;;
    component_repeated) printf SIG-23 ;;
    component_malformed) printf SIG-25 ;;
    content_not_covered) printf SIG-02 ;;
    ticket_not_covered) printf SIG-10 ;;
    target_not_covered) printf HTP-08 ;;
    field_missing) printf SIG-20 ;;
    field_repeated) printf SIG-21 ;;
    query) printf SIG-18 ;;
    mac) printf SIG-45 ;;
    lifetime) printf SIG-47 ;;
    not_yet_valid) printf SIG-48 ;;
    expired) printf SIG-49 ;;
    digest_malformed) printf SIG-51 ;;
    digest_mismatch) printf SIG-52 ;;
  esac
}

# A good request, before it is signed.
begin() {
  AT=$NOW VERIFY_KEY=$KEY SIGN_KEY=$KEY
  METHOD=POST AUTHORITY=hook.example TARGET=/v1/storage QUERY=''
  BODY='{"op":"tokens.get","serviceName":"github"}'
  NAMES=(content-type content-digest)
  VALUES=(application/json "sha-256=:$(digest_of "$BODY"):")
  COMPONENTS='"@method" "@authority" "@path" "@query" "content-type" "content-digest"'
  CREATED=$NOW EXPIRES=$((NOW + 60)) NONCE='AAECAwQFBgcICQoLDA0ODw' KEY_ID=k1 ALG=hmac-sha256 TAG=sv-webhook-v1
  PARAMETERS='' LABEL=sv BASE=''
}
no_body() {
  BODY='' NAMES=() VALUES=() COMPONENTS='"@method" "@authority" "@path" "@query"'
}
value_of() { # of a component, as it is signed
  case $1 in
    @method) printf '%s' "$METHOD" ;;
    @authority) printf '%s' "$AUTHORITY" ;;
    @path) printf '%s' "$TARGET" ;;
    @query) printf '%s' "${QUERY:-?}" ;;
    @target-uri) printf 'https://%s%s' "$AUTHORITY" "$TARGET" ;;
    *)
      local at
      for at in "${!NAMES[@]}"; do
        if [ "$(printf '%s' "${NAMES[at]}" | tr 'A-Z' 'a-z')" = "$(printf '%s' "$1" | tr 'A-Z' 'a-z')" ]; then
          printf '%s' "${VALUES[at]}" | sed 's/^[ \t]*//; s/[ \t]*$//'
          return
        fi
      done ;;
  esac
}
sign() {
  local component
  if [ -z "$PARAMETERS" ]; then
    PARAMETERS=";created=$CREATED;expires=$EXPIRES;nonce=\"$NONCE\";keyid=\"$KEY_ID\";alg=\"$ALG\";tag=\"$TAG\""
  fi
  SIGNATURE_PARAMS="($COMPONENTS)$PARAMETERS"
  if [ -z "$BASE" ]; then
    for component in $COMPONENTS; do
      BASE+="$component: $(value_of "$(printf '%s' "${component%%;*}" | tr -d '"')")"$'\n'
    done
    BASE+="\"@signature-params\": $SIGNATURE_PARAMS"
  fi
  MAC=$(printf '%s' "$BASE" | hmac "$SIGN_KEY" | base64_of)
  NAMES+=(signature-input signature)
  VALUES+=("$LABEL=$SIGNATURE_PARAMS" "$LABEL=:$MAC:")
}
set_field() { # name, value: changes a field after signing
  local at
  for at in "${!NAMES[@]}"; do if [ "${NAMES[at]}" = "$1" ]; then VALUES[at]=$2; fi; done
}
drop_field() { # name
  local at
  for at in "${!NAMES[@]}"; do
    if [ "${NAMES[at]}" = "$1" ]; then unset "NAMES[at]" "VALUES[at]"; fi
  done
}
add_field() { NAMES+=("$1") VALUES+=("$2"); }
request_vector() { # reason ('' for accept), name
  local at fields=''
  for at in "${!NAMES[@]}"; do
    fields+="${fields:+, }[$(js "${NAMES[at]}"), $(js "${VALUES[at]}")]"
  done
  write_vector "\"name\": $(js "$2"), $(expectation "$1"), \"now\": $AT, \"key\": \"$VERIFY_KEY\",
      \"request\": { \"method\": $(js "$METHOD"), \"authority\": $(js "$AUTHORITY"), \"path\": $(js "$TARGET"), \"query\": $(js "$QUERY"),
        \"headers\": [$fields],
        \"body\": $(js "$BODY") },
      \"signatureBase\": $(js "$BASE")"
}
accept() { sign; request_vector '' "$1"; }
refuse() { sign; request_vector "$1" "$2"; } # the request was made wrong
tampered() { request_vector "$1" "$2"; }     # a signed request was changed on its way

# Good ones.
begin; accept 'with a body'
begin; no_body; TARGET=/v1/health; accept 'without a body'
begin; TARGET=/v1/proxy; add_field sv-ticket 'aaaa.bbbb.cccc'; COMPONENTS+=' "sv-ticket"'; accept 'sv-ticket covered'
begin; TARGET=/v1/proxy; add_field sv-target "/a%2Fb?c='d'&e=%zz"; COMPONENTS+=' "sv-target"'; accept 'sv-target covered'
begin; TARGET=/v1/proxy; add_field sv-target ''; COMPONENTS+=' "sv-target"'; accept 'an empty sv-target covered'
begin; add_field x-request-id '7f3a'; COMPONENTS+=' "x-request-id"'; accept 'an extra field covered'
begin; add_field x-forwarded-for '192.0.2.1'; accept 'an extra field not covered'
begin; AUTHORITY=hook.example:8443; accept 'an authority with a port'
begin; TARGET=/tenants/a-1/v1/storage; accept 'a webhook under a path'
begin; COMPONENTS='"content-digest" "@query" "@path" "content-type" "@authority" "@method"'; accept 'components in another order'
begin; PARAMETERS=";tag=\"$TAG\";alg=\"$ALG\";keyid=\"$KEY_ID\";nonce=\"$NONCE\";expires=$EXPIRES;created=$CREATED"; accept 'parameters in another order'
begin; VALUES[0]=$' \t application/json \t'; accept 'spaces and tabs around a value'
begin; VALUES[0]='application/json; charset="utf-8"'; accept 'a content type with parameters'
begin; VALUES[1]="sha-512=:$(digest_of "$BODY" sha512):, ${VALUES[1]}"; accept 'a digest by another algorithm beside sha-256'
begin; NAMES=(Content-Type CONTENT-DIGEST); accept 'field names in other letter case'
begin; no_body; add_field content-type application/json; add_field content-digest "sha-256=:$(digest_of ''):"; COMPONENTS+=' "content-type" "content-digest"'; accept 'the digest of an empty body'
begin; EXPIRES=$((NOW + 1)); accept 'a life of one second'
begin; CREATED=$((NOW + 30)) EXPIRES=$((NOW + 90)); accept 'created 30 seconds ahead'
begin; CREATED=$((NOW - 90)) EXPIRES=$((NOW - 30)); accept 'expired for 30 seconds'
begin; NONCE=$(printf 'n%.0s' {1..64}); accept 'a nonce of 64 characters'
begin; KEY_ID=$(printf 'k%.0s' {1..64}); accept 'a key id of 64 characters'
begin; TARGET=/v1/exchange KEY_ID=bind CODE=6fbbd7e8-6a4c-4f5e-9d0e-2a6f1c1b7a11
BODY="{\"code\":\"$CODE\",\"service\":{\"baseUrl\":\"https://service.example\",\"vaultId\":\"vlt_1\"}}"
VALUES[1]="sha-256=:$(digest_of "$BODY"):"
SIGN_KEY=$(printf '%s' "$CODE" | od -An -tx1 | tr -d ' \n') VERIFY_KEY=$SIGN_KEY; accept 'the exchange, under the 36 bytes of the code'

# The two headers.
begin; sign; drop_field signature-input; tampered signature_input_missing 'no Signature-Input'
begin; sign; drop_field signature; tampered signature_missing 'no Signature'
begin; sign; add_field Signature-Input "sv=$SIGNATURE_PARAMS"; tampered signature_input_repeated 'Signature-Input twice'
begin; sign; add_field Signature "sv=:$MAC:"; tampered signature_repeated 'Signature twice'
begin; LABEL=sig1 BREAKS=SIG-33; refuse label 'another label'
begin; sign; set_field signature-input "other=(\"@method\");created=1, sv=$SIGNATURE_PARAMS"; tampered label 'another member before sv'
begin; sign; set_field signature-input "sv=$SIGNATURE_PARAMS, other=(\"@method\");created=1"; tampered signature_input_malformed 'another member after sv'
begin; sign; set_field signature "sv=:$MAC:, other=:$MAC:"; tampered signature_malformed 'another signature after sv'
begin; sign; set_field signature "sv=\"$MAC\""; tampered signature_malformed 'a signature that is a string'
begin; sign; set_field signature "sv=:${MAC%=}:"; BREAKS=SIG-42; tampered signature_malformed 'a signature without padding'
begin; sign; set_field signature "sv=:$(printf '%s' "$MAC" | tr '+/' '-_'):"; BREAKS=SIG-42; tampered signature_malformed 'a signature in the alphabet of base64url'
begin; sign; set_field signature-input 'sv'; tampered label 'a label without a list'
begin; sign; set_field signature-input "sv=\"$KEY_ID\""; tampered signature_input_malformed 'a string in place of the list'
begin; sign; set_field signature-input "sv=($COMPONENTS$PARAMETERS"; tampered signature_input_malformed 'a list without end'

# Tag, algorithm, parameters.
begin; TAG=sv-webhook-v2; refuse tag 'another tag'
begin; ALG=hmac-sha512; refuse algorithm 'another algorithm'
begin; ALG=none; refuse algorithm 'no algorithm'
begin; PARAMETERS=";created=$CREATED;expires=$EXPIRES;nonce=\"$NONCE\";keyid=\"$KEY_ID\";alg=\"$ALG\""; refuse parameter_missing 'tag missing'
begin; PARAMETERS=";created=$CREATED;expires=$EXPIRES;nonce=\"$NONCE\";keyid=\"$KEY_ID\";tag=\"$TAG\""; refuse parameter_missing 'alg missing'
begin; PARAMETERS=";created=$CREATED;expires=$EXPIRES;nonce=\"$NONCE\";alg=\"$ALG\";tag=\"$TAG\""; refuse parameter_missing 'keyid missing'
begin; PARAMETERS=";created=$CREATED;expires=$EXPIRES;keyid=\"$KEY_ID\";alg=\"$ALG\";tag=\"$TAG\""; refuse parameter_missing 'nonce missing'
begin; PARAMETERS=";created=$CREATED;nonce=\"$NONCE\";keyid=\"$KEY_ID\";alg=\"$ALG\";tag=\"$TAG\""; refuse parameter_missing 'expires missing'
begin; PARAMETERS=";expires=$EXPIRES;nonce=\"$NONCE\";keyid=\"$KEY_ID\";alg=\"$ALG\";tag=\"$TAG\""; refuse parameter_missing 'created missing'
begin; PARAMETERS=";created=$CREATED;expires=$EXPIRES;nonce=\"$NONCE\";keyid=\"$KEY_ID\";alg=\"$ALG\";tag=\"$TAG\";extra"; refuse parameter_unknown 'a parameter that is not named'
begin; CREATED=$NOW.5; refuse created 'created with a fraction'
begin; CREATED="\"$NOW\""; refuse created 'created as a string'
begin; EXPIRES="\"$((NOW + 60))\""; refuse expires 'expires as a string'
begin; NONCE=$(printf 'n%.0s' {1..21}); refuse nonce 'a nonce of 21 characters'
begin; NONCE=$(printf 'n%.0s' {1..65}); refuse nonce 'a nonce of 65 characters'
begin; NONCE='AAECAwQFBgcICQoLDA0OD+'; refuse nonce 'a nonce with a character that is not base64url'
begin; KEY_ID=''; refuse key_id 'an empty key id'
begin; KEY_ID=$(printf 'k%.0s' {1..65}); refuse key_id 'a key id of 65 characters'
begin; KEY_ID='k.1'; refuse key_id 'a key id with another character'

# Components.
begin; COMPONENTS=${COMPONENTS/'"@method" '/}; refuse component_missing '@method not covered'
begin; COMPONENTS=${COMPONENTS/'"@authority" '/}; refuse component_missing '@authority not covered'
begin; COMPONENTS=${COMPONENTS/'"@path" '/}; refuse component_missing '@path not covered'
begin; COMPONENTS=${COMPONENTS/'"@query" '/}; refuse component_missing '@query not covered'
begin; COMPONENTS=${COMPONENTS/' "content-type"'/}; refuse content_not_covered 'content-type not covered'
begin; COMPONENTS=${COMPONENTS/' "content-digest"'/}; refuse content_not_covered 'content-digest not covered'
begin; add_field sv-ticket 'aaaa.bbbb.cccc'; refuse ticket_not_covered 'sv-ticket not covered'
begin; add_field sv-target '/a'; refuse target_not_covered 'sv-target not covered'
begin; add_field sv-target ''; refuse target_not_covered 'an empty sv-target not covered'
begin; COMPONENTS+=' "@path"'; refuse component_repeated 'a component twice'
begin; COMPONENTS=${COMPONENTS/content-type/Content-Type}; BREAKS=SIG-24; refuse component_unknown 'a component in capitals'
begin; COMPONENTS+=' "@target-uri"'; refuse component_unknown 'a derived component that is not in the profile'
begin; COMPONENTS=${COMPONENTS/'"content-type"'/'"content-type";sf'}; refuse component_malformed 'a component with a parameter'
begin; COMPONENTS+=' "x-absent"'; refuse field_missing 'a covered field that is absent'
begin; add_field content-type application/json; refuse field_repeated 'a covered field that stands twice'
begin; QUERY='?a=b'; refuse query 'a query'

# The MAC.
begin; SIGN_KEY=$OTHER_KEY; refuse mac 'another key'
begin; sign; METHOD=GET; tampered mac 'another method'
begin; sign; METHOD=post; tampered mac 'the method in other letter case'
begin; sign; AUTHORITY=other.example; tampered mac 'another webhook'
begin; sign; AUTHORITY=hook.example:8443; tampered mac 'another port'
begin; sign; TARGET=/v1/health; tampered mac 'another endpoint'
begin; sign; TARGET=/v1/%73torage; tampered mac 'the same path in another spelling'
begin; sign; set_field content-type text/plain; tampered mac 'another content type'
begin; sign; set_field content-type 'application/json;charset=utf-8'; tampered mac 'a parameter added to the content type'
begin; sign; set_field signature-input "sv=${SIGNATURE_PARAMS/AAEC/BAEC}"; tampered mac 'another nonce'
begin; sign; set_field signature-input "sv=${SIGNATURE_PARAMS/expires=$EXPIRES/expires=$((EXPIRES - 1))}"; tampered mac 'another expiry'
begin; sign; BODY='{"op":"tokens.get","serviceName":"gitlab"}'; set_field content-digest "sha-256=:$(digest_of "$BODY"):"; tampered mac 'another body with its own digest'
begin; sign; set_field signature "sv=:$(printf '%s' "$BASE" | hmac "$KEY" | head -c 16 | base64_of):"; tampered mac 'half a MAC'
begin; sign; set_field signature 'sv=::'; tampered mac 'an empty MAC'
begin; sign; set_field signature "sv=:$(printf '%s\n' "$BASE" | hmac "$KEY" | base64_of):"; tampered mac 'a MAC over a base that ends with a line feed'
begin; sign; set_field signature "sv=:$(printf '%s' "${BASE//$'\n'/$'\r\n'}" | hmac "$KEY" | base64_of):"; tampered mac 'a MAC over a base with CR LF'

# Times.
begin; EXPIRES=$((NOW + 61)); refuse lifetime 'a life of 61 seconds'
begin; EXPIRES=$NOW; refuse lifetime 'no life'
begin; EXPIRES=$((NOW - 1)); refuse lifetime 'expired before it was created'
begin; CREATED=$((NOW + 31)) EXPIRES=$((NOW + 91)); refuse not_yet_valid 'created 31 seconds ahead'
begin; CREATED=$((NOW - 91)) EXPIRES=$((NOW - 31)); refuse expired 'expired for 31 seconds'

# The body.
begin; sign; BODY='{"op":"tokens.get","serviceName":"gitlab"}'; tampered digest_mismatch 'another body'
begin; sign; BODY="$BODY"$'\n'; tampered digest_mismatch 'a line feed after the body'
begin; sign; BODY=''; tampered digest_mismatch 'the body taken away'
begin; VALUES[1]="sha-512=:$(digest_of "$BODY" sha512):"; refuse digest_malformed 'a digest by another algorithm alone'
begin; VALUES[1]="${VALUES[1]}, ${VALUES[1]}"; refuse digest_malformed 'sha-256 twice'
close_file
