# Tickets (protocol section 4, RFC 7515). In a refused one a single clause is broken; where the MAC is not the point, it
# is right for what was sent.
open_file tickets.json 'Tickets. keys: by kid, in hex; issuer, audience, op, now: what the webhook insists on; header, claims: what the ticket says, as text.'

requirement_of() {
  case $1 in
    too_long) printf TIX-05 ;;
    not_compact) printf TIX-01 ;;
    header_malformed | header_members) printf TIX-04 ;;
    algorithm | type | key_id) printf TIX-03 ;;
    unknown_key | mac) printf TIX-29 ;;
    claims_malformed) printf TRN-02 ;;
    issuer) printf TIX-08 ;;
    audience) printf TIX-09 ;;
    operation) printf TIX-12 ;;
    subject) printf TIX-10 ;;
    service) printf TIX-13 ;;
    ticket_id) printf TIX-14 ;;
    issued_at | expires_at) printf TIX-15 ;;
    lifetime) printf TIX-16 ;;
    not_yet_valid) printf TIX-17 ;;
    expired) printf TIX-18 ;;
    grant) printf TIX-19 ;;
    refresh_policy) printf TIX-20 ;;
    confirmation) printf TIX-21 ;;
    if_version) printf TIX-25 ;;
    method) printf TIX-23 ;;
    proxy) printf TIX-24 ;;
  esac
}

begin() {
  AT=$NOW OP=credential SIGN_KEY=$KEY
  HEADER='{"alg":"HS256","typ":"sv-ticket+jwt","kid":"k1"}'
  ISS='"https://service.example"' AUD='"whk_1"' SUB='"agt_1"' SVC='"github"' JTI='"AAECAwQFBgcICQoLDA0ODw"'
  IAT=$NOW EXP=$((NOW + 60)) MORE='"gnt":"grt_1","rfp":"none"' CLAIMS=''
}
store() { OP=store SUB='"usr_1"' EXP=$((NOW + 300)) MORE=${1:-}; }
proxy() { OP=proxy SUB='"prx_1"' MORE=${1:-'"htm":"POST","prx":"prx_1"'}; }
sign() {
  if [ -z "$CLAIMS" ]; then
    CLAIMS="{\"iss\":$ISS,\"aud\":$AUD,\"sub\":$SUB,\"op\":\"$OP\",\"svc\":$SVC,\"jti\":$JTI,\"iat\":$IAT,\"exp\":$EXP${MORE:+,$MORE}}"
  fi
  SIGNING_INPUT="$(printf '%s' "$HEADER" | base64url_of).$(printf '%s' "$CLAIMS" | base64url_of)"
  MAC=$(printf '%s' "$SIGNING_INPUT" | hmac "$SIGN_KEY" | base64url_of)
  TICKET="$SIGNING_INPUT.$MAC"
}
ticket_vector() { # reason ('' for accept), name
  write_vector "\"name\": $(js "$2"), $(expectation "$1"), \"now\": $AT, \"op\": \"${ASKED:-$OP}\", \"issuer\": \"https://service.example\", \"audience\": \"whk_1\", \"keys\": { \"k1\": \"$KEY\" },
      \"header\": $(js "$HEADER"),
      \"claims\": $(js "$CLAIMS"),
      \"ticket\": $(js "$TICKET")"
  ASKED=
}
accept() { sign; ticket_vector '' "$1"; }
refuse() { sign; ticket_vector "$1" "$2"; }
tampered() { ticket_vector "$1" "$2"; }

# Good ones.
begin; accept 'credential'
begin; MORE='"gnt":"grt_1","rfp":"auto"'; accept 'credential, refreshed by the service'
begin; SUB='"usr_1"' MORE='"rfp":"none"'; accept 'credential for an owner, without a grant'
begin; MORE+=',"cnf":{"jkt":"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"}'; accept 'credential for a sealed record'
begin; MORE+=',"cnf":null'; accept 'an optional claim that is null'
begin; MORE+=',"later":{"a":[1,2.5,true]}'; accept 'a claim that is not known'
begin; HEADER='{ "kid" : "k1", "typ" : "sv-ticket+jwt", "alg" : "HS256" }'; accept 'a header in another order, with spaces'
begin; SVC='"Schlüssel 🔑"'; accept 'a service name beyond ASCII'
begin; JTI="\"$(printf 'j%.0s' {1..64})\""; accept 'a jti of 64 characters'
begin; EXP=$((NOW + 1)); accept 'a life of one second'
begin; IAT=$((NOW + 30)) EXP=$((NOW + 90)); accept 'issued 30 seconds ahead'
begin; IAT=$((NOW - 90)) EXP=$((NOW - 30)); accept 'expired for 30 seconds'
begin; store; accept 'store'
begin; store '"ifv":0'; accept 'store, where there must be none'
begin; store '"ifv":7'; accept 'store, replacing a version'
for method in GET POST DELETE OPTIONS; do
  begin; proxy "\"htm\":\"$method\",\"prx\":\"prx_1\""; accept "proxy, $method"
done

# The form.
begin; MORE+=",\"pad\":\"$(printf 'x%.0s' {1..2900})\""; refuse too_long 'more than 4096 characters'
begin; sign; TICKET=${TICKET%.*}; tampered not_compact 'two parts'
begin; sign; TICKET+='.AAAA'; tampered not_compact 'four parts'
begin; sign; TICKET=''; tampered not_compact 'nothing'
begin; sign; TICKET="$SIGNING_INPUT.$MAC="; tampered not_compact 'a MAC with padding'
begin; sign; TICKET="$SIGNING_INPUT.$MAC "; tampered not_compact 'a space at the end'
begin; sign; TICKET="$SIGNING_INPUT.${MAC%?}$(printf '%s' "${MAC: -1}" | tr 'AEIMQUYcgkosw048' 'BFJNRVZdhlptx159')"; BREAKS=TIX-02; tampered not_compact 'the same MAC in another spelling: unused bits set'

# The header.
begin; HEADER='{"alg":"none","typ":"sv-ticket+jwt","kid":"k1"}'; sign; TICKET="$SIGNING_INPUT."; tampered algorithm 'alg none'
begin; HEADER=${HEADER/HS256/HS384}; refuse algorithm 'alg HS384'
begin; HEADER=${HEADER/HS256/hs256}; refuse algorithm 'alg in small letters'
begin; HEADER=${HEADER/HS256/RS256}; refuse algorithm 'alg RS256'
begin; HEADER=${HEADER/sv-ticket+jwt/JWT}; refuse type 'typ JWT'
begin; HEADER='{"alg":"HS256","kid":"k1"}'; refuse type 'no typ'
begin; HEADER='{"alg":"HS256","typ":"sv-ticket+jwt"}'; refuse key_id 'no kid'
begin; HEADER=${HEADER/'"k1"'/1}; refuse key_id 'kid as a number'
begin; HEADER=${HEADER/k1/../k1}; refuse key_id 'kid with other characters'
begin; HEADER=${HEADER/k1/k2}; refuse unknown_key 'a key that is not known'
begin; HEADER='{"alg":"HS256","typ":"sv-ticket+jwt","kid":"k1","crit":["exp"]}'; refuse header_members 'a fourth member, crit'
begin; HEADER='{"alg":"HS256","typ":"sv-ticket+jwt","kid":"k1","jwk":{"kty":"oct","k":"AA"}}'; refuse header_members 'a fourth member, a key'
begin; HEADER='{"alg":"none","alg":"HS256","typ":"sv-ticket+jwt","kid":"k1"}'; BREAKS=TRN-05; refuse header_malformed 'a member twice'
begin; HEADER='["HS256"]'; refuse header_malformed 'a header that is no object'
begin; HEADER='HS256'; refuse header_malformed 'a header that is no JSON'

# The MAC.
begin; SIGN_KEY=$OTHER_KEY; refuse mac 'another key'
begin; sign; TICKET="$SIGNING_INPUT."; tampered mac 'no MAC'
begin; sign; TICKET="$SIGNING_INPUT.$(printf '%s' "$SIGNING_INPUT" | hmac "$KEY" | head -c 16 | base64url_of)"; tampered mac 'half a MAC'
begin; sign; TICKET="$(printf '%s' "$HEADER" | base64url_of).$(printf '%s' "${CLAIMS/github/gitlab}" | base64url_of).$MAC"; tampered mac 'another service'
begin; sign; TICKET="$SIGNING_INPUT.$(printf '%s' "$CLAIMS" | hmac "$KEY" | base64url_of)"; tampered mac 'a MAC over the claims alone'

# Claims of every ticket.
begin; CLAIMS='[]'; refuse claims_malformed 'claims that are no object'
begin; CLAIMS='{"iss":'; refuse claims_malformed 'claims that are no JSON'
begin; MORE+=',"op":"credential"'; BREAKS=TRN-05; refuse claims_malformed 'a claim twice'
begin; ISS='"https://service.example/"'; refuse issuer 'the issuer with a slash'
begin; ISS='"https://SERVICE.example"'; refuse issuer 'the issuer in other letter case'
begin; ISS='"https://other.example"'; refuse issuer 'another issuer'
begin; AUD='"whk_2"'; refuse audience 'another webhook'
begin; AUD='["whk_1"]'; refuse audience 'the audience as a list'
begin; ASKED=store; refuse operation 'a credential ticket at the store'
begin; store; ASKED=credential; refuse operation 'a store ticket at the credential'
begin; proxy; ASKED=credential; refuse operation 'a proxy ticket at the credential'
begin; SUB='"bot_1"'; refuse subject 'a subject of another kind'
begin; SUB=null; refuse subject 'no subject'
begin; SVC='"a/b"'; refuse service 'a service name with a slash'
begin; SVC='""'; refuse service 'an empty service name'
begin; SVC='"Schlu\u0308ssel"'; refuse service 'a service name that is not in NFC'
begin; JTI="\"$(printf 'j%.0s' {1..21})\""; refuse ticket_id 'a jti of 21 characters'
begin; JTI="\"$(printf 'j%.0s' {1..65})\""; refuse ticket_id 'a jti of 65 characters'
begin; JTI='"AAECAwQFBgcICQoLDA0OD."'; refuse ticket_id 'a jti with another character'
begin; IAT="\"$NOW\""; refuse issued_at 'iat as a string'
begin; IAT=$NOW.5; refuse issued_at 'iat with a fraction'
begin; EXP=null; refuse expires_at 'no exp'
begin; EXP=$((NOW + 61)); refuse lifetime 'credential: a life of 61 seconds'
begin; proxy; EXP=$((NOW + 61)); refuse lifetime 'proxy: a life of 61 seconds'
begin; store; EXP=$((NOW + 301)); refuse lifetime 'store: a life of 301 seconds'
begin; EXP=$NOW; refuse lifetime 'no life'
begin; IAT=$((NOW + 31)) EXP=$((NOW + 91)); refuse not_yet_valid 'issued 31 seconds ahead'
begin; IAT=$((NOW - 91)) EXP=$((NOW - 31)); refuse expired 'expired for 31 seconds'

# Claims of one kind of ticket.
begin; MORE='"rfp":"none"'; refuse grant 'no grant for an agent'
begin; MORE='"gnt":"grt_1"'; refuse refresh_policy 'no refresh policy'
begin; MORE='"gnt":"grt_1","rfp":"always"'; refuse refresh_policy 'another refresh policy'
begin; MORE+=',"cnf":{"jkt":"short"}'; refuse confirmation 'a thumbprint that is none'
begin; MORE+=',"cnf":"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"'; refuse confirmation 'cnf that is no object'
begin; store '"ifv":-1'; refuse if_version 'a negative version'
begin; store '"ifv":"0"'; refuse if_version 'a version as a string'
begin; proxy '"prx":"prx_1"'; refuse method 'no method'
begin; proxy '"htm":"TRACE","prx":"prx_1"'; refuse method 'another method'
begin; proxy '"htm":"post","prx":"prx_1"'; refuse method 'a method in small letters'
begin; proxy '"htm":"POST"'; refuse proxy 'no proxy'
close_file
