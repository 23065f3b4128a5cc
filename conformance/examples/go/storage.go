package main

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Record is one stored credential with what was sealed with it (TRU-01).
type Record struct {
	ServiceName    string            `json:"serviceName"`
	TokenType      string            `json:"tokenType"`
	Secrets        map[string]string `json:"secrets"`
	Share          bool              `json:"share,omitempty"`
	PublicKey      string            `json:"publicKey,omitempty"`
	Delivery       string            `json:"delivery"`
	AllowedHosts   []string          `json:"allowedHosts"`
	AllowedHeaders []string          `json:"allowedHeaders"`
	AllowedQuery   []string          `json:"allowedQuery,omitempty"`
	Requests       []Rule            `json:"requests,omitempty"`
	Approval       *ApprovalSetting  `json:"approval,omitempty"`
	AllowShort     bool              `json:"allowShortSecret,omitempty"`
	Recipients     []Recipient       `json:"recipients,omitempty"`
	Expiry         string            `json:"expiry,omitempty"`
	Version        int64             `json:"version"`
	CreatedAt      string            `json:"createdAt"`
	UpdatedAt      string            `json:"updatedAt"`
}

// mainSecret names the field that is delivered as accessToken; without it a record is empty.
var mainSecret = map[string]string{
	"PlainText": "value", "JWT": "accessToken", "Certificate": "certificate", "SSHKey": "privateKey", "RawCredential": "value",
}

func (r Record) accessToken() string {
	if r.TokenType == "Certificate" && r.Secrets["privateKey"] == "" {
		return "" // SAV-47
	}
	return r.Secrets[mainSecret[r.TokenType]]
}

// metadata is a token of section 5.3: everything but the secret (STO-03).
func (r Record) metadata() Object {
	token := Object{
		"serviceName": r.ServiceName, "tokenType": r.TokenType, "createdAt": r.CreatedAt, "updatedAt": r.UpdatedAt,
		"hasRefreshToken": r.Secrets["refreshToken"] != "", "version": r.Version, "delivery": r.Delivery,
		"allowedHosts": r.AllowedHosts, "allowedHeaders": r.AllowedHeaders, "empty": r.accessToken() == "",
	}
	if r.Expiry != "" {
		token["expiryTime"] = r.Expiry
	}
	if r.AllowedQuery != nil { // HTP-05
		token["allowedQuery"] = r.AllowedQuery
	}
	if r.Requests != nil { // RUL-01
		token["requests"] = r.Requests
	}
	if r.Approval != nil { // APR-01
		token["approval"] = r.Approval
	}
	return token
}

// isServiceName is NAM-01 to NAM-05.
func isServiceName(name string) bool {
	if !utf8.ValidString(name) || len(name) > 255 || name == "" || utf8.RuneCountInString(name) > 128 || name == "." || name == ".." {
		return false
	}
	for _, each := range name {
		if each == '/' || unicode.IsControl(each) {
			return false
		}
	}
	return strings.TrimFunc(name, unicode.IsSpace) == name && quickFormC(name)
}

// secretNames are the members that no storage operation may have (STO-04).
var secretNames = map[string]bool{
	"accesstoken": true, "refreshtoken": true, "value": true, "secret": true, "otpauthuri": true, "clientsecret": true,
	"clientassertion": true, "privatekey": true, "certificate": true, "minter": true, "secretaccesskey": true,
	"password": true, "passphrase": true,
}

func hasSecretName(value any, path string) bool {
	switch each := value.(type) {
	case Object:
		for name, member := range each {
			if path != "/headerTemplates" && path != "/queryTemplates" && secretNames[strings.ToLower(name)] || hasSecretName(member, path+"/"+name) {
				return true
			}
		}
	case []any:
		for _, member := range each {
			if hasSecretName(member, path+"/-") {
				return true
			}
		}
	}
	return false
}

// storage runs one operation, or a batch of them, each on its own (STO-06 to STO-09).
func (wh *Webhook) storage(body Object) (any, *Refusal) {
	wh.mu.Lock()
	defer wh.mu.Unlock()
	if body["batch"] == nil {
		return wh.operate(body)
	}
	batch, ok := body["batch"].([]any)
	if !ok || len(batch) < 1 || len(batch) > 100 || body["op"] != nil {
		return nil, refuse("INVALID_REQUEST")
	}
	results := make([]any, len(batch))
	for at, each := range batch {
		operation, _ := each.(Object)
		result, refusal := wh.operate(operation)
		if refusal != nil {
			result = Object{"error": "The operation was refused.", "code": refusal.Code}
		}
		results[at] = result
	}
	return Object{"results": results}, nil
}

func (wh *Webhook) operate(operation Object) (any, *Refusal) {
	if hasSecretName(operation, "") {
		return nil, refuse("SECRET_FIELD")
	}
	switch operation["op"] {
	case "tokens.list":
		return wh.tokensList(operation)
	case "tokens.get":
		return wh.tokensGet(operation)
	case "tokens.delete":
		return wh.tokensDelete(operation)
	case "proxies.put":
		return wh.proxiesPut(operation)
	case "proxies.get":
		return wh.proxiesGet(operation)
	case "proxies.list":
		return wh.proxiesList(operation)
	case "proxies.delete":
		return wh.proxiesDelete(operation)
	case "audit.append":
		return wh.auditAppend(operation)
	case "audit.list":
		return wh.auditList(operation)
	}
	return nil, refuse("INVALID_REQUEST")
}

func limitOf(operation Object, most int64) (int, *Refusal) {
	limit, ok := optionalInteger(operation, "limit")
	if !ok || limit != nil && (*limit < 1 || *limit > most) {
		return 0, refuse("INVALID_REQUEST")
	}
	if limit == nil {
		return 100, nil
	}
	return int(*limit), nil
}

// list pages through the keys of a prefix in order; the cursor is the last key that was shown.
func (wh *Webhook) list(operation Object, prefix string, show func(key string) Object) (any, *Refusal) {
	limit, refusal := limitOf(operation, 500)
	if refusal != nil {
		return nil, refusal
	}
	keys := wh.journal.Keys(prefix)
	if operation["cursor"] != nil {
		cursor, ok := text(operation, "cursor")
		if !ok {
			return nil, refuse("INVALID_REQUEST")
		}
		keys = keys[sort.Search(len(keys), func(at int) bool { return keys[at] > cursor }):]
	}
	items, answer := []Object{}, Object{}
	var last string
	for _, key := range keys {
		item := show(key)
		if item == nil {
			continue
		}
		if len(items) == limit {
			answer["nextCursor"] = last
			break
		}
		items, last = append(items, item), key
	}
	answer["items"] = items
	return answer, nil
}

func (wh *Webhook) tokensList(operation Object) (any, *Refusal) {
	var before time.Time
	if operation["expiresBefore"] != nil {
		value, _ := text(operation, "expiresBefore")
		var ok bool
		if before, ok = parseTime(value); !ok {
			return nil, refuse("INVALID_REQUEST")
		}
	}
	return wh.list(operation, "record/", func(name string) Object {
		record := wh.record(name)
		if expiry, ok := parseTime(record.Expiry); !before.IsZero() && (!ok || !expiry.Before(before)) {
			return nil
		}
		return record.metadata()
	})
}

func (wh *Webhook) record(name string) *Record {
	record := &Record{}
	if !wh.journal.Get("record/"+name, record) {
		return nil
	}
	return record
}

func (wh *Webhook) tokensGet(operation Object) (any, *Refusal) {
	name, ok := text(operation, "serviceName")
	if !ok || !isServiceName(name) {
		return nil, refuse("INVALID_REQUEST")
	}
	record := wh.record(name)
	if record == nil {
		return nil, refuse("NOT_FOUND")
	}
	return record.metadata(), nil
}

func (wh *Webhook) tokensDelete(operation Object) (any, *Refusal) {
	name, ok := text(operation, "serviceName")
	wanted, hasWanted := optionalInteger(operation, "ifVersion")
	if !ok || !isServiceName(name) || !hasWanted {
		return nil, refuse("INVALID_REQUEST")
	}
	record := wh.record(name)
	if record == nil {
		return Object{"deleted": false}, nil
	}
	if wanted != nil && *wanted != record.Version {
		return nil, refuse("VERSION_CONFLICT")
	}
	ops := append(wh.used("CREDENTIAL_DELETED", name, "", nil), Remove("record/"+name))
	if wh.journal.Commit(append(ops, wh.voidApprovals(ofRecord(name))...)...) != nil {
		return nil, refuse("INTERNAL")
	}
	return Object{"deleted": true}, nil
}

// Proxy is a configuration of proxies.put.
type Proxy struct {
	ProxyID         string            `json:"proxyId"`
	ServiceName     string            `json:"serviceName"`
	UpstreamURL     string            `json:"upstreamUrl"`
	HeaderTemplates map[string]string `json:"headerTemplates"`
	Kind            string            `json:"kind,omitempty"`
	QueryTemplates  map[string]string `json:"queryTemplates,omitempty"`
	Redirects       string            `json:"redirects,omitempty"`
	Version         int64             `json:"version"`
}

func (p Proxy) shown() Object {
	shown := Object{
		"proxyId": p.ProxyID, "serviceName": p.ServiceName, "upstreamUrl": p.UpstreamURL,
		"headerTemplates": p.HeaderTemplates, "version": p.Version,
	}
	if p.Kind != "" { // HTP-02
		shown["kind"] = p.Kind
	}
	if p.QueryTemplates != nil {
		shown["queryTemplates"] = p.QueryTemplates
	}
	if p.Redirects != "" {
		shown["redirects"] = p.Redirects
	}
	return shown
}

var (
	idShape    = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`)
	tokenShape = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$")
	valueShape = regexp.MustCompile(`^[\t\x20-\x7e]*$`)
)

func (wh *Webhook) proxiesPut(operation Object) (any, *Refusal) {
	wanted, hasWanted := optionalInteger(operation, "ifVersion")
	proxy, ok := readProxy(operation)
	if !ok || !hasWanted {
		return nil, refuse("INVALID_REQUEST")
	}
	stored := Proxy{}
	wh.journal.Get("proxy/"+proxy.ProxyID, &stored)
	proxy.Version = stored.Version
	if stored.Version > 0 && fmt.Sprint(proxy) == fmt.Sprint(stored) {
		return stored.shown(), nil // STO-19: whatever ifVersion says
	}
	if wanted != nil && *wanted != stored.Version {
		return nil, refuse("VERSION_CONFLICT")
	}
	versions := wh.nextVersion("proxy-version/"+proxy.ProxyID, &proxy.Version)
	if wh.journal.Commit(Put("proxy/"+proxy.ProxyID, proxy), versions) != nil {
		return nil, refuse("INTERNAL")
	}
	return proxy.shown(), nil
}

// nextVersion never gives a version out twice, also after what had it was removed (STO-15).
func (wh *Webhook) nextVersion(key string, version *int64) Op {
	var last int64
	wh.journal.Get(key, &last)
	*version = last + 1
	return Put(key, *version)
}

func readProxy(operation Object) (Proxy, bool) {
	var has [3]bool
	proxy := Proxy{HeaderTemplates: map[string]string{}}
	proxy.ProxyID, has[0] = text(operation, "proxyId")
	proxy.ServiceName, has[1] = text(operation, "serviceName")
	proxy.UpstreamURL, has[2] = text(operation, "upstreamUrl")
	templates, isObject := operation["headerTemplates"].(Object)
	if !has[0] || !has[1] || !has[2] || !isObject || len(templates) > 20 || !idShape.MatchString(proxy.ProxyID) ||
		!isServiceName(proxy.ServiceName) || !isUpstream(proxy.UpstreamURL) {
		return proxy, false
	}
	seen := map[string]bool{}
	for name, each := range templates {
		value, isText := each.(string)
		lower := strings.ToLower(name)
		if !isText || len(value) > 4096 || !valueShape.MatchString(value) || !tokenShape.MatchString(name) || isForbiddenHeader(lower) || seen[lower] {
			return proxy, false
		}
		seen[lower] = true
		proxy.HeaderTemplates[name] = value
	}
	return proxy, proxy.readHTTPMembers(operation)
}

func (wh *Webhook) proxiesGet(operation Object) (any, *Refusal) {
	id, ok := text(operation, "proxyId")
	if !ok || !idShape.MatchString(id) {
		return nil, refuse("INVALID_REQUEST")
	}
	proxy := Proxy{}
	if !wh.journal.Get("proxy/"+id, &proxy) {
		return nil, refuse("NOT_FOUND")
	}
	return proxy.shown(), nil
}

func (wh *Webhook) proxiesList(operation Object) (any, *Refusal) {
	return wh.list(operation, "proxy/", func(id string) Object {
		proxy := Proxy{}
		wh.journal.Get("proxy/"+id, &proxy)
		return proxy.shown()
	})
}

func (wh *Webhook) proxiesDelete(operation Object) (any, *Refusal) {
	id, ok := text(operation, "proxyId")
	wanted, hasWanted := optionalInteger(operation, "ifVersion")
	if !ok || !idShape.MatchString(id) || !hasWanted {
		return nil, refuse("INVALID_REQUEST")
	}
	stored := Proxy{}
	found := wh.journal.Get("proxy/"+id, &stored)
	if found && wanted != nil && *wanted != stored.Version {
		return nil, refuse("VERSION_CONFLICT")
	}
	if found && wh.journal.Commit(Remove("proxy/"+id)) != nil {
		return nil, refuse("INTERNAL")
	}
	return Object{"deleted": found}, nil
}
