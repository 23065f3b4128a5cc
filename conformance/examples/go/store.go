package main

import (
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const maxSecret = 64 << 10

// fieldsOf names what a body may have beside the settings that every type takes (SAV-02). A provider, TOTP seeds and
// minters are none of them: this webhook neither refreshes nor mints (SAV-06).
var fieldsOf = map[string][]string{
	"PlainText":     {"value"},
	"JWT":           {"accessToken", "refreshToken", "shareRefreshToken"},
	"Certificate":   {"certificate", "privateKey"},
	"SSHKey":        {"privateKey", "publicKey"},
	"RawCredential": {"value"},
}

var requiredOf = map[string][]string{
	"PlainText": {"value"}, "JWT": {"accessToken"}, "Certificate": {"certificate", "privateKey"}, "SSHKey": {"privateKey"}, "RawCredential": {"value"},
}

// store takes a secret in from a browser or a command line (section 5.5).
func (wh *Webhook) store(w http.ResponseWriter, r *http.Request, read content) *Refusal {
	ticket, refusal := wh.useStoreTicket(bearer(r))
	if refusal != nil {
		return refusal
	}
	body, refusal := read()
	if refusal != nil {
		return refusal
	}
	object, refusal := jsonBody(r, body)
	if refusal != nil {
		return refusal
	}
	record, ok := readRecord(object)
	if !ok {
		return refuse("INVALID_REQUEST")
	}
	record.ServiceName = ticket.Svc
	wh.mu.Lock()
	defer wh.mu.Unlock()
	before := wh.record(ticket.Svc)
	if ticket.IfVersion != nil && (before == nil && *ticket.IfVersion != 0 || before != nil && *ticket.IfVersion != before.Version) {
		return refuse("VERSION_CONFLICT")
	}
	record.UpdatedAt = formatTime(time.Now())
	record.CreatedAt = record.UpdatedAt
	if before != nil {
		record.CreatedAt = before.CreatedAt
	}
	version := wh.nextVersion("version/"+ticket.Svc, &record.Version)
	ops := append(wh.used("CREDENTIAL_STORED", ticket.Svc, ticket.Sub, nil), version, Put("record/"+ticket.Svc, record))
	if wh.journal.Commit(append(ops, wh.voidApprovals(ofRecord(ticket.Svc))...)...) != nil {
		return refuse("INTERNAL")
	}
	writeJSON(w, 200, Object{"serviceName": ticket.Svc, "version": record.Version})
	return nil
}

func (wh *Webhook) useStoreTicket(compact string) (*Ticket, *Refusal) {
	wh.mu.Lock()
	defer wh.mu.Unlock()
	ticket, claim, refusal := wh.admitTicket(compact, "store")
	if refusal == nil && wh.journal.Commit(claim...) != nil {
		refusal = refuse("INTERNAL")
	}
	return ticket, refusal
}

// readRecord takes nothing from what is replaced (SAV-03).
func readRecord(body Object) (*Record, bool) {
	kind, _ := text(body, "tokenType")
	fields, known := fieldsOf[kind]
	if !known {
		return nil, false
	}
	allowed := map[string]bool{"tokenType": true, "allowedHosts": true, "allowedHeaders": true, "allowedQuery": true, "requests": true, "approval": true, "allowShortSecret": true, "delivery": true, "recipients": true, "expiryTime": true}
	for _, name := range fields {
		allowed[name] = true
	}
	for name := range body {
		if !allowed[name] {
			return nil, false
		}
	}
	record := &Record{TokenType: kind, Secrets: map[string]string{}, Share: true}
	return record, record.readSecrets(body, fields) && record.readSettings(body) && record.mayBeInjected()
}

func (r *Record) readSecrets(body Object, fields []string) bool {
	for _, name := range fields {
		if body[name] == nil {
			continue
		}
		if name == "shareRefreshToken" {
			share, ok := body[name].(bool)
			if !ok {
				return false
			}
			r.Share = share
			continue
		}
		value, ok := text(body, name)
		if !ok || len(value) > maxSecret {
			return false
		}
		if name == "publicKey" {
			r.PublicKey = value
		} else {
			r.Secrets[name] = value
		}
	}
	for _, name := range requiredOf[r.TokenType] {
		if _, ok := r.Secrets[name]; !ok {
			return false
		}
	}
	for _, name := range []string{"certificate", "privateKey"} { // what is to be PEM is PEM, or empty
		if value := r.Secrets[name]; value != "" {
			if block, _ := pem.Decode([]byte(value)); block == nil {
				return false
			}
		}
	}
	return true
}

func (r *Record) readSettings(body Object) bool {
	r.Delivery, r.AllowedHosts, r.AllowedHeaders = "any", []string{}, []string{"authorization", "x-api-key"}
	var ok bool
	if body["delivery"] != nil {
		if r.Delivery, ok = text(body, "delivery"); !ok || r.Delivery != "any" && r.Delivery != "sealed" && r.Delivery != "proxy-only" {
			return false
		}
	}
	if body["expiryTime"] != nil {
		value, _ := text(body, "expiryTime")
		expiry, ok := parseTime(value)
		if !ok {
			return false
		}
		r.Expiry = formatTime(expiry)
	}
	if body["allowedHosts"] != nil {
		if r.AllowedHosts, ok = texts(body, "allowedHosts"); !ok {
			return false
		}
		for _, entry := range r.AllowedHosts {
			if !isHostEntry(entry) || entry == "*" && r.Delivery != "any" {
				return false
			}
		}
	}
	if body["allowShortSecret"] != nil {
		if r.AllowShort, ok = body["allowShortSecret"].(bool); !ok {
			return false
		}
	}
	if body["allowedHeaders"] != nil {
		if r.AllowedHeaders, ok = texts(body, "allowedHeaders"); !ok {
			return false
		}
		for at, name := range r.AllowedHeaders {
			r.AllowedHeaders[at] = strings.ToLower(name)
			if !tokenShape.MatchString(name) || isForbiddenHeader(strings.ToLower(name)) {
				return false
			}
		}
	}
	if body["allowedQuery"] != nil {
		if r.AllowedQuery, ok = texts(body, "allowedQuery"); !ok || !areQueryNames(r.AllowedQuery) {
			return false
		}
	}
	if body["requests"] != nil {
		if r.Requests, ok = readRules(body["requests"]); !ok {
			return false
		}
	}
	if body["approval"] != nil {
		if r.Approval, ok = readApprovalSetting(body["approval"]); !ok {
			return false
		}
	}
	if (body["recipients"] != nil) != (r.Delivery == "sealed") {
		return false
	}
	if r.Delivery == "sealed" {
		r.Recipients, ok = readRecipients(body["recipients"])
		return ok
	}
	return true
}

var labelsShape = regexp.MustCompile(`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)

// isHostEntry is SAV-11 and SAV-12.
func isHostEntry(entry string) bool {
	if entry == "*" {
		return true
	}
	host, port := splitHostPort(strings.TrimPrefix(entry, "http://"))
	if port != "" {
		number, err := strconv.Atoi(port)
		if err != nil || number < 1 || number > 65535 || strconv.Itoa(number) != port {
			return false
		}
	} else if strings.HasSuffix(entry, ":") {
		return false
	}
	if literal, ok := strings.CutPrefix(host, "["); ok {
		address, err := netip.ParseAddr(strings.TrimSuffix(literal, "]"))
		return err == nil && address.Is6() && address.Zone() == "" && "["+address.String()+"]" == host
	}
	return len(host) <= 253 && labelsShape.MatchString(host)
}

// splitHostPort takes `host`, `host:port` and `[v6]:port` apart.
func splitHostPort(entry string) (host, port string) {
	at := strings.LastIndexByte(entry, ':')
	if at == -1 || at < strings.LastIndexByte(entry, ']') {
		return entry, ""
	}
	return entry[:at], entry[at+1:]
}

func base64url(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }
