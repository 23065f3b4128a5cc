package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Binding is what ties a webhook to its service (section 5.1).
type Binding struct {
	ServiceURL string       `json:"serviceUrl"`
	Current    *Key         `json:"current,omitempty"`
	Former     *Key         `json:"former,omitempty"`
	Pending    *Key         `json:"pending,omitempty"`
	Code       *BindingCode `json:"code,omitempty"`
}

// BindingCode is the latest one-time code; of itself its hash is kept, and the key that it will be exchanged for (BND-07).
type BindingCode struct {
	Hash   []byte    `json:"hash"`
	Secret []byte    `json:"secret"`
	MadeAt time.Time `json:"madeAt"`
	Used   bool      `json:"used"`
}

// offer is the key that the page shows the fingerprint of, until Connect makes a code for it.
type offer struct{ secret []byte }

const (
	codeLife   = 5 * time.Minute
	codeMemory = 10 * time.Minute
)

var codeShape = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func (wh *Webhook) binding() Binding {
	binding := Binding{ServiceURL: wh.serviceURL}
	wh.journal.Get("binding", &binding)
	binding.ServiceURL = wh.serviceURL
	return binding
}

var page = template.Must(template.New("bind").Parse(`<!doctype html><meta charset="utf-8"><title>Bind this webhook</title>
<form method="post" action="bind">{{if .Fingerprint}}
<p>Service: <b>{{.Service}}</b></p><p>Fingerprint: <b>{{.Fingerprint}}</b></p>
<input type="hidden" name="setup_token" value="{{.Token}}"><button name="connect" value="yes">Connect</button>{{else}}
<label>Set-up token <input type="password" name="setup_token" autocomplete="off"></label><button>Go on</button>{{end}}
</form>`))

type pageData struct{ Service, Fingerprint, Token string }

func (wh *Webhook) isBound() bool {
	wh.mu.Lock()
	defer wh.mu.Unlock()
	return wh.binding().Current != nil
}

func (wh *Webhook) bindPage(w http.ResponseWriter, _ *http.Request, _ content) *Refusal {
	if wh.isBound() {
		return refuse("SETUP_REQUIRED")
	}
	showPage(w, 200, pageData{})
	return nil
}

func showPage(w http.ResponseWriter, status int, data pageData) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self' https: http:; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	page.Execute(w, data)
}

func (wh *Webhook) bindForm(w http.ResponseWriter, r *http.Request, read content) *Refusal {
	if wh.isBound() {
		return refuse("SETUP_REQUIRED")
	}
	body, refusal := read()
	if refusal != nil {
		return refusal
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return refuse("INVALID_REQUEST")
	}
	wh.mu.Lock()
	defer wh.mu.Unlock()
	binding := wh.binding()
	if binding.Current != nil {
		return refuse("SETUP_REQUIRED")
	}
	if subtle.ConstantTimeCompare([]byte(form.Get("setup_token")), []byte(wh.setupToken)) != 1 {
		if !wh.wrongTokens.take(10, time.Now()) { // BND-04; the right one is never counted (BND-12)
			return &Refusal{Code: "RATE_LIMITED", RetryAfter: 60}
		}
		showPage(w, 403, pageData{}) // BND-13
		return nil
	}
	if wh.offer == nil {
		wh.offer = &offer{secret: randomBytes(32)}
	}
	hash := sha256.Sum256(wh.offer.secret)
	fingerprint := hex.EncodeToString(hash[:8])
	if form.Get("connect") == "" {
		showPage(w, 200, pageData{wh.serviceURL, strings.Join([]string{fingerprint[:4], fingerprint[4:8], fingerprint[8:12], fingerprint[12:]}, " "), wh.setupToken})
		return nil
	}
	code := newCode()
	codeHash := sha256.Sum256([]byte(code))
	binding.Code = &BindingCode{Hash: codeHash[:], Secret: wh.offer.secret, MadeAt: time.Now()}
	binding.Pending, wh.offer = nil, nil // EXC-12
	if wh.journal.Commit(Put("binding", binding)) != nil {
		return refuse("INTERNAL")
	}
	address := base64.RawURLEncoding.EncodeToString([]byte(wh.publicURL))
	w.Header().Set("Location", fmt.Sprintf("%s/vault/webhook-bind?code=%s&webhook_url=%s&hmac_hash=%x", wh.serviceURL, code, address, hash))
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// newCode is a random UUID (RFC 9562, version 4).
func newCode() string {
	b := randomBytes(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// exchange hands the key over, or rotates it.
func (wh *Webhook) exchange(w http.ResponseWriter, r *http.Request, read content) *Refusal {
	signature := wh.readSignature(r)
	if signature == nil {
		return refuse("SIGNATURE_INVALID")
	}
	if signature.KeyID != "bind" {
		return wh.signed(func(object Object) (any, *Refusal) { return wh.rotate(object, signature.KeyID) })(w, r, read)
	}
	if known := wh.knownCode(); known == nil {
		return wh.refuseCode()
	}
	body, refusal := read()
	if refusal != nil {
		return refusal
	}
	answer, refusal := wh.exchangeCode(r, body, signature)
	if refusal == nil {
		writeJSON(w, 200, answer)
	}
	return refusal
}

// knownCode is the latest code, for as long as it is answered (EXC-16, EXC-17, EXC-20).
func (wh *Webhook) knownCode() *BindingCode {
	wh.mu.Lock()
	defer wh.mu.Unlock()
	code := wh.binding().Code
	if code == nil || time.Since(code.MadeAt) > codeMemory {
		return nil
	}
	return code
}

func (wh *Webhook) refuseCode() *Refusal {
	wh.mu.Lock()
	defer wh.mu.Unlock()
	if !wh.wrongCodes.take(30, time.Now()) {
		return &Refusal{Code: "RATE_LIMITED", RetryAfter: 60}
	}
	return refuse("SIGNATURE_INVALID")
}

// exchangeCode works in the order of EXC-05: headers were read; then JSON, the code's hash, MAC, times, digest.
func (wh *Webhook) exchangeCode(r *http.Request, body []byte, signature *Signature) (any, *Refusal) {
	object, refusal := jsonBody(r, body)
	if refusal != nil {
		return nil, refusal
	}
	code, isText := text(object, "code")
	if !isText {
		return nil, refuse("INVALID_REQUEST") // EXC-21
	}
	service, _ := object["service"].(Object)
	hash := sha256.Sum256([]byte(code))
	known := wh.knownCode()
	if known == nil || !codeShape.MatchString(code) || subtle.ConstantTimeCompare(hash[:], known.Hash) != 1 {
		return nil, wh.refuseCode()
	}
	wh.mu.Lock()
	defer wh.mu.Unlock()
	now, binding := time.Now(), wh.binding()
	if known = binding.Code; known == nil || subtle.ConstantTimeCompare(hash[:], known.Hash) != 1 {
		return nil, refuse("SIGNATURE_INVALID") // another one was made meanwhile
	}
	if !signature.covers(body) || !signature.macHolds([]byte(code)) || !signature.timesHold(now) || !digestHolds(r, body) {
		return nil, refuse("SIGNATURE_INVALID")
	}
	if known.Used {
		return nil, refuse("CODE_USED")
	}
	if now.Sub(known.MadeAt) > codeLife {
		return nil, refuse("CODE_EXPIRED")
	}
	if service["baseUrl"] != wh.serviceURL {
		return nil, refuse("INVALID_REQUEST")
	}
	pending := &Key{ID: "k_" + randomToken(9), Secret: known.Secret}
	binding.Code = &BindingCode{Hash: known.Hash, MadeAt: known.MadeAt, Used: true}
	binding.Pending = pending
	if wh.journal.Commit(Put("binding", binding)) != nil {
		return nil, refuse("INTERNAL")
	}
	return Object{
		"webhookId": wh.webhookID, "keyId": pending.ID, "hmacSecret": base64.RawURLEncoding.EncodeToString(pending.Secret),
		"protocol": "v1", "capabilities": capabilities,
	}, nil
}

// rotate makes a new pending key; the current one stays until a request comes under the new one (ROT-02, ROT-06).
func (wh *Webhook) rotate(object Object, keyID string) (any, *Refusal) {
	if object["op"] != "rotate" {
		return nil, refuse("INVALID_REQUEST")
	}
	wh.mu.Lock()
	defer wh.mu.Unlock()
	binding := wh.binding()
	if binding.Current == nil || binding.Current.ID != keyID {
		return nil, refuse("SIGNATURE_INVALID") // ROT-10: the former key
	}
	binding.Pending = &Key{ID: "k_" + randomToken(9), Secret: randomBytes(32)}
	if wh.journal.Commit(Put("binding", binding)) != nil {
		return nil, refuse("INTERNAL")
	}
	return Object{"keyId": binding.Pending.ID, "hmacSecret": base64.RawURLEncoding.EncodeToString(binding.Pending.Secret)}, nil
}

// printLink fills in the page's form as the owner would, with the set-up token from the folder.
func printLink(listen, folder string) error {
	token, err := os.ReadFile(filepath.Join(folder, "setup-token"))
	if err != nil {
		return fmt.Errorf("is it running? %w", err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.PostForm("http://"+listen+"/bind", url.Values{"setup_token": {strings.TrimSpace(string(token))}, "connect": {"yes"}})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		return errors.New("it is bound already, or too many tries were made: remove its folder to begin again")
	}
	fmt.Println(answer.Header.Get("Location"))
	return nil
}
