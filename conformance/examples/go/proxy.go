package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// isForbiddenHeader names what no template may set (PRX-14). The name is in lower case.
func isForbiddenHeader(name string) bool {
	switch name {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "via", "forwarded":
		return true
	}
	return strings.HasPrefix(name, "x-forwarded-") || strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "sv-")
}

// travelsOut names what of the agent's headers reaches the upstream (PRX-01, PRX-03).
func travelsOut(name string) bool {
	switch name {
	case "accept", "accept-language", "content-type", "user-agent", "mcp-protocol-version", "mcp-session-id", "last-event-id",
		"mcp-method", "mcp-name", "traceparent", "tracestate":
		return true
	}
	return strings.HasPrefix(name, "mcp-param-")
}

// staysBack names what of the upstream's headers ends here (PRX-25).
func staysBack(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
		"set-cookie", "www-authenticate", "proxy-authenticate", "clear-site-data", "strict-transport-security", "alt-svc",
		"refresh", "report-to", "nel", "service-worker-allowed", "x-accel-redirect", "x-accel-expires", "x-accel-charset",
		"x-accel-limit-rate", "x-sendfile", "x-lighttpd-send-file", "x-reproxy-url", "surrogate-control":
		return true
	}
	for _, prefix := range []string{"content-security-policy", "access-control-", "sv-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, "-cache-control")
}

func isUpstream(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http") && parsed.Host != "" && parsed.Hostname() != "" &&
		parsed.User == nil && parsed.Fragment == "" && !strings.Contains(address, "#") && valueShape.MatchString(address) && parsed.Opaque == ""
}

// mayReach is SAV-13, SAV-14, SAV-34, SAV-35 and PRX-08: an entry without a scheme means https.
func mayReach(allowedHosts []string, upstream *url.URL) bool {
	host, port := strings.ToLower(upstream.Hostname()), upstream.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	usual := map[string]string{"https": "443", "http": "80"}[upstream.Scheme]
	if port == "" {
		port = usual
	}
	for _, entry := range allowedHosts {
		named, plain := strings.CutPrefix(entry, "http://")
		if plain != (upstream.Scheme == "http") {
			continue
		}
		allowedHost, allowedPort := splitHostPort(named)
		if allowedPort == "" {
			allowedPort = usual
		}
		if entry == "*" || allowedHost == host && allowedPort == port {
			return true
		}
	}
	return false
}

// proxy injects the credential (section 5.6).
func (wh *Webhook) proxy(w http.ResponseWriter, r *http.Request, body []byte) *Refusal {
	ticket, refusal := wh.admitTicket(r.Header.Get("Sv-Ticket"), "proxy")
	if refusal != nil {
		return refusal
	}
	call, secret, refusal := wh.prepare(r, ticket, body)
	wh.mu.Lock()
	err := wh.journal.Commit(wh.used("CREDENTIAL_INJECTED", ticket.Svc, ticket.Sub, refusal)...)
	wh.mu.Unlock()
	if err != nil {
		return refuse("INTERNAL")
	}
	if refusal != nil {
		return refusal
	}
	answer, err := wh.caller().Do(call.WithContext(r.Context()))
	if err != nil {
		return failureOf(err)
	}
	defer answer.Body.Close()
	handBack(w, answer, secret)
	return nil
}

// prepare decides who, where and how before anything is called (PRX-19).
func (wh *Webhook) prepare(r *http.Request, ticket *Ticket, body []byte) (*http.Request, string, *Refusal) {
	wh.mu.Lock()
	config := Proxy{}
	known := wh.journal.Get("proxy/"+ticket.Prx, &config)
	record := wh.record(config.ServiceName)
	wh.mu.Unlock()
	if !known {
		return nil, "", refuse("NOT_FOUND")
	}
	if config.ServiceName != ticket.Svc { // TIX-39
		return nil, "", refuse("DESTINATION_NOT_ALLOWED")
	}
	if record == nil {
		return nil, "", refuse("NOT_FOUND")
	}
	upstream, err := url.Parse(config.UpstreamURL)
	if err != nil || !mayReach(record.AllowedHosts, upstream) || !wh.schemeFits(upstream) || !templatesFit(config.HeaderTemplates, record.AllowedHeaders) {
		return nil, "", refuse("DESTINATION_NOT_ALLOWED")
	}
	secret := record.accessToken()
	if secret == "" {
		return nil, "", refuse("EMPTY_TOKEN")
	}
	if isShort(secret) && !record.AllowShort { // PRX-47
		return nil, "", refuse("NOT_INJECTABLE")
	}
	call, err := http.NewRequest(ticket.Htm, config.UpstreamURL, bytes.NewReader(body))
	if err != nil {
		return nil, "", refuse("DESTINATION_NOT_ALLOWED")
	}
	if len(body) == 0 {
		call.Body = http.NoBody
	}
	call.Header["User-Agent"] = nil // Not Go's own where the agent has none.
	for name, values := range r.Header {
		if travelsOut(strings.ToLower(name)) && !(len(body) == 0 && name == "Content-Type") {
			call.Header[name] = values
		}
	}
	call.Header.Set("Accept-Encoding", "identity")
	for name, template := range config.HeaderTemplates {
		value := strings.NewReplacer("${TOKEN}", secret, "$<TOKEN>", secret).Replace(template)
		if !isFieldValue(value) {
			return nil, "", refuse("NOT_INJECTABLE")
		}
		call.Header.Set(name, value)
	}
	return call, secret, nil
}

// templatesFit is PRX-12 and PRX-15.
func templatesFit(templates map[string]string, allowed []string) bool {
	for name, value := range templates {
		name = strings.ToLower(name)
		marked := strings.Contains(value, "${TOKEN}") || strings.Contains(value, "$<TOKEN>")
		fits := !marked
		for _, each := range allowed {
			fits = fits || each == name
		}
		if !fits || isForbiddenHeader(name) {
			return false
		}
	}
	return true
}

// isFieldValue is PRX-17.
func isFieldValue(value string) bool {
	for at := 0; at < len(value); at++ {
		if (value[at] < 0x20 && value[at] != '\t') || value[at] > 0x7e {
			return false
		}
	}
	return true
}

func failureOf(err error) *Refusal {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errAddress):
		return refuse("DESTINATION_NOT_ALLOWED")
	case errors.As(err, &timeout) && timeout.Timeout():
		return refuse("UPSTREAM_TIMEOUT")
	}
	return refuse("UPSTREAM_ERROR")
}

// handBack streams the answer, piece by piece as it comes (PRX-23 to PRX-28).
func handBack(w http.ResponseWriter, answer *http.Response, secret string) {
	named := map[string]bool{}
	for _, value := range answer.Header.Values("Connection") {
		for _, name := range strings.Split(value, ",") {
			named[strings.ToLower(strings.TrimSpace(name))] = true
		}
	}
	w.Header()["Content-Type"] = nil // No guess where the upstream says nothing.
	for name, values := range answer.Header {
		lower := strings.ToLower(name)
		for _, value := range values {
			if !staysBack(lower) && !named[lower] && comesBack(lower, value, secret) {
				w.Header().Add(name, value)
			}
		}
	}
	w.Header().Set("sv-proxy-origin", "upstream")
	w.WriteHeader(answer.StatusCode)
	flush := http.NewResponseController(w)
	flush.Flush()
	pieces := make([]byte, 32<<10)
	for {
		read, err := answer.Body.Read(pieces)
		if _, failed := w.Write(pieces[:read]); failed != nil {
			return
		}
		flush.Flush()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // PRX-36: nobody takes the piece for the whole.
		}
	}
}

// comesBack is PRX-48 where the secret is short, and PRX-26 and PRX-34 otherwise.
func comesBack(name, value, secret string) bool {
	if isShort(secret) {
		return besideShort[name]
	}
	return !hasSecret(value, secret)
}

// hasSecret is PRX-26 and PRX-34.
func hasSecret(value, secret string) bool {
	plain, _ := url.PathUnescape(value)
	form, _ := url.QueryUnescape(value)
	encoded := base64.RawStdEncoding.EncodeToString([]byte(secret))
	return strings.Contains(value, secret) || strings.Contains(plain, secret) || strings.Contains(form, secret) ||
		strings.Contains(value, encoded) || strings.Contains(value, base64url([]byte(secret)))
}

const answerTime = 28 * time.Second // PRX-40
