package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Key is one of the binding's.
type Key struct {
	ID     string    `json:"id"`
	Secret []byte    `json:"secret"`
	Until  time.Time `json:"until,omitempty"`
}

const skew = 30 * time.Second

// Strict serialisation of RFC 9651; a webhook may refuse any other (SIG-39). A component with parameters fits nothing
// here (SIG-25), nor does one in upper case (SIG-24), a second member or another label (SIG-27).
var (
	inputShape   = regexp.MustCompile(`^sv=(\(((?:"[@a-z0-9!#$%&'*+.^_|~-]+"(?: "[@a-z0-9!#$%&'*+.^_|~-]+")*)?)\)((?:;[a-z]+=(?:"[!#-\[\]-~]*"|-?[0-9]+))*))$`)
	paramShape   = regexp.MustCompile(`;([a-z]+)=("?)([^";]*)"?`)
	macShape     = regexp.MustCompile(`^sv=:([A-Za-z0-9+/]+={0,2}):$`)
	digestShape  = regexp.MustCompile(`^([a-z0-9*-]+)=:([A-Za-z0-9+/]*={0,2}):$`)
	nonceShape   = regexp.MustCompile(`^[A-Za-z0-9_-]{22,64}$`)
	keyIDShape   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	secondsShape = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)
)

// Signature is what the two headers say, checked for form only.
type Signature struct {
	Components       []string
	Created, Expires int64
	Nonce, KeyID     string
	params, base     string
	mac              []byte
}

// readSignature does everything up to the key (SIG-57): headers, label, tag, algorithm, covered list, parameters.
func (wh *Webhook) readSignature(r *http.Request) *Signature {
	inputs, macs := r.Header.Values("Signature-Input"), r.Header.Values("Signature")
	if len(inputs) != 1 || len(macs) != 1 {
		return nil
	}
	input, mac := inputShape.FindStringSubmatch(strings.Trim(inputs[0], " \t")), macShape.FindStringSubmatch(strings.Trim(macs[0], " \t"))
	if input == nil || mac == nil {
		return nil
	}
	signature := &Signature{params: input[1]}
	var err error
	if signature.mac, err = base64.StdEncoding.Strict().DecodeString(mac[1]); err != nil {
		return nil
	}
	for _, component := range strings.Fields(input[2]) {
		signature.Components = append(signature.Components, strings.Trim(component, `"`))
	}
	if !signature.readParameters(input[3]) || !wh.readComponents(signature, r) {
		return nil
	}
	return signature
}

func (s *Signature) readParameters(list string) bool {
	values, quoted := map[string]string{}, map[string]bool{}
	for _, found := range paramShape.FindAllStringSubmatch(list, -1) {
		if _, twice := values[found[1]]; twice {
			return false
		}
		values[found[1]], quoted[found[1]] = found[3], found[2] != ""
	}
	for _, name := range []string{"created", "expires", "nonce", "keyid", "alg", "tag"} {
		isNumber := name == "created" || name == "expires"
		if value, ok := values[name]; !ok || quoted[name] == isNumber || isNumber && !secondsShape.MatchString(value) {
			return false
		}
	}
	s.Created, _ = strconv.ParseInt(values["created"], 10, 64)
	s.Expires, _ = strconv.ParseInt(values["expires"], 10, 64)
	s.Nonce, s.KeyID = values["nonce"], values["keyid"]
	return len(values) == 6 && values["alg"] == "hmac-sha256" && values["tag"] == "sv-webhook-v1" &&
		nonceShape.MatchString(s.Nonce) && keyIDShape.MatchString(s.KeyID)
}

// readComponents checks what is covered and makes the base (SIG-01 to SIG-25, SIG-40, SIG-41).
func (wh *Webhook) readComponents(s *Signature, r *http.Request) bool {
	path, query, _ := strings.Cut(r.RequestURI, "?")
	derived := map[string]string{
		"@method":    r.Method,
		"@authority": wh.authority,
		"@path":      wh.publicPath(path),
		"@query":     "?",
	}
	lines, covered := make([]string, 0, len(s.Components)+1), map[string]bool{}
	for _, name := range s.Components {
		value, isDerived := derived[name]
		if !isDerived {
			var ok bool
			if value, ok = oneField(r, name); !ok {
				return false
			}
		}
		if covered[name] {
			return false
		}
		covered[name] = true
		lines = append(lines, `"`+name+`": `+value)
	}
	required := []string{"@method", "@authority", "@path", "@query"}
	if len(r.Header.Values("Sv-Ticket")) > 0 {
		required = append(required, "sv-ticket")
	}
	if len(r.Header.Values("Sv-Target")) > 0 { // HTP-08
		required = append(required, "sv-target")
	}
	for _, name := range required {
		if !covered[name] {
			return false
		}
	}
	s.base = strings.Join(append(lines, `"@signature-params": `+s.params), "\n")
	return query == "" && !strings.Contains(r.RequestURI, "?")
}

// oneField is a field that stands once.
func oneField(r *http.Request, name string) (string, bool) {
	if name == "host" {
		return r.Host, true
	}
	values := r.Header.Values(name)
	if len(values) != 1 {
		return "", false
	}
	return strings.Trim(values[0], " \t"), true
}

// covers is SIG-02: a body of one byte or more has its type and its digest in the list.
func (s *Signature) covers(body []byte) bool {
	return len(body) == 0 || slices.Contains(s.Components, "content-type") && slices.Contains(s.Components, "content-digest")
}

func (s *Signature) macHolds(secret []byte) bool {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(s.base))
	return hmac.Equal(mac.Sum(nil), s.mac)
}

// timesHold is SIG-47 to SIG-49.
func (s *Signature) timesHold(now time.Time) bool {
	life := s.Expires - s.Created
	return life > 0 && life <= 60 && !time.Unix(s.Created, 0).After(now.Add(skew)) &&
		!now.After(time.Unix(s.Expires, 0).Add(skew))
}

// digestHolds compares the digest with the raw bytes of the body (SIG-51 to SIG-53).
func digestHolds(r *http.Request, body []byte) bool {
	fields := r.Header.Values("Content-Digest")
	if len(body) == 0 && len(fields) == 0 {
		return true
	}
	found, right, sum := 0, false, sha256.Sum256(body)
	for _, member := range strings.Split(strings.Join(fields, ","), ",") {
		parts := digestShape.FindStringSubmatch(strings.Trim(member, " \t"))
		if parts == nil {
			return false
		}
		if parts[1] == "sha-256" {
			digest, err := base64.StdEncoding.Strict().DecodeString(parts[2])
			found, right = found+1, err == nil && hmac.Equal(digest, sum[:])
		}
	}
	return found == 1 && right
}

// verifyHead is all of a signature that the head alone tells: no byte of a stranger's body is read (SIG-61).
func (wh *Webhook) verifyHead(r *http.Request) *Signature {
	signature := wh.readSignature(r)
	wh.mu.Lock()
	defer wh.mu.Unlock()
	if signature == nil {
		return nil
	}
	key := wh.requestKey(signature.KeyID, time.Now())
	if key == nil || !signature.macHolds(key.Secret) || !signature.timesHold(time.Now()) {
		return nil
	}
	return signature
}

// admitService verifies a signed request. Then, under the lock, it commits the nonce together with what work answers; only
// then is a pending key the current one.
func (wh *Webhook) admitService(r *http.Request, read content, work func(*Signature, []byte) []Op) *Refusal {
	signature := wh.verifyHead(r)
	if signature == nil {
		return refuse("SIGNATURE_INVALID")
	}
	body, refusal := read()
	if refusal != nil {
		return refusal
	}
	wh.mu.Lock()
	defer wh.mu.Unlock()
	claim, refusal := wh.claim(r, body, signature)
	if refusal == nil && wh.journal.Commit(append(claim, work(signature, body)...)...) != nil {
		refusal = refuse("INTERNAL")
	}
	return refusal
}

func (wh *Webhook) claim(r *http.Request, body []byte, signature *Signature) ([]Op, *Refusal) {
	now := time.Now()
	// Looked up again: the body may have taken a while.
	key := wh.requestKey(signature.KeyID, now)
	nonce := "nonce/" + signature.KeyID + "/" + signature.Nonce
	var until int64
	if key == nil || !signature.timesHold(now) || !signature.covers(body) || !digestHolds(r, body) ||
		wh.journal.Get(nonce, &until) {
		return nil, refuse("SIGNATURE_INVALID")
	}
	if binding := wh.binding(); binding.Pending != nil && binding.Pending.ID == key.ID {
		if binding.Current != nil {
			binding.Former = &Key{ID: binding.Current.ID, Secret: binding.Current.Secret, Until: now.Add(10 * time.Minute)}
		}
		binding.Current, binding.Pending = binding.Pending, nil
		if wh.journal.Commit(Put("binding", binding)) != nil { // Now: the ticket of this request may be under it.
			return nil, refuse("INTERNAL")
		}
	}
	return append(wh.forgetOld(now), Put(nonce, signature.Expires+31)), nil
}

// requestKey finds a key that requests may come under; a pending one too (ROT-02).
func (wh *Webhook) requestKey(id string, now time.Time) *Key {
	binding := wh.binding()
	if binding.Pending != nil && binding.Pending.ID == id {
		return binding.Pending
	}
	return wh.ticketKey(id, now)
}

// ticketKey finds a key that tickets may come under; never a pending one (ROT-08).
func (wh *Webhook) ticketKey(id string, now time.Time) *Key {
	binding := wh.binding()
	if binding.Current != nil && binding.Current.ID == id {
		return binding.Current
	}
	if binding.Former != nil && binding.Former.ID == id && now.Before(binding.Former.Until) {
		return binding.Former
	}
	return nil
}

// forgetOld removes nonces, tickets and links whose time is over, and requests for approvals a day later.
func (wh *Webhook) forgetOld(now time.Time) []Op {
	if now.Sub(wh.swept) < time.Minute {
		return nil
	}
	wh.swept = now
	var ops []Op
	for _, prefix := range []string{"nonce/", "ticket/", "link/"} {
		for _, rest := range wh.journal.Keys(prefix) {
			var until int64
			if wh.journal.Get(prefix+rest, &until) && until < now.Unix() {
				ops = append(ops, Remove(prefix+rest))
			}
		}
	}
	return append(ops, wh.forgetApprovals(now)...)
}
