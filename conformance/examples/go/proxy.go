package main

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
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

var usualPorts = map[string]string{"https": "443", "http": "80"}

// origin is scheme, host and port of an upstream.
type origin struct{ scheme, host, port string }

func originOf(upstream *url.URL) origin {
	host, port := strings.ToLower(upstream.Hostname()), upstream.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" {
		port = usualPorts[upstream.Scheme]
	}
	return origin{upstream.Scheme, host, port}
}

// isAmong is SAV-13, SAV-14, SAV-34, SAV-35 and PRX-08: an entry without a scheme means https.
func (o origin) isAmong(entries []string) bool {
	for _, entry := range entries {
		named, plain := strings.CutPrefix(entry, "http://")
		if plain != (o.scheme == "http") {
			continue
		}
		host, port := splitHostPort(named)
		if port == "" {
			port = usualPorts[o.scheme]
		}
		if entry == "*" || host == o.host && port == o.port {
			return true
		}
	}
	return false
}

// proxy injects the credential (section 5.6).
func (wh *Webhook) proxy(w http.ResponseWriter, r *http.Request, read content) *Refusal {
	var call *prepared
	var refused *Refusal
	refusal := wh.admitService(r, read, func(signature *Signature, body []byte) (ops []Op) {
		call, ops, refused = wh.admitCall(r, signature, body)
		return ops
	})
	if refusal == nil {
		refusal = refused
	}
	if refusal != nil {
		return refusal
	}
	call.request = call.request.WithContext(r.Context())
	answer, err := wh.caller().Do(call.request)
	answer, wasRedirected, refusal := wh.follow(call, answer, err)
	if refusal != nil {
		return refusal
	}
	defer answer.Body.Close()
	if call.shows != nil && !hideTools(answer, call.shows) {
		return refuse("UPSTREAM_ERROR")
	}
	if wasRedirected { // HTP-34
		for _, name := range []string{"Location", "Content-Location", "Link"} {
			answer.Header.Del(name)
		}
	}
	handBack(w, answer, call)
	return nil
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
func handBack(w http.ResponseWriter, answer *http.Response, call *prepared) {
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
			if !staysBack(lower) && !named[lower] && call.comesBack(lower, value) {
				w.Header().Add(nameBack(call.request.Method, name), value)
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

// nameBack is HTP-28.
func nameBack(method, name string) string {
	if method == "HEAD" && name == "Content-Length" {
		return "sv-content-length"
	}
	return name
}

// comesBack is PRX-48 and HTP-27 where the secret is short, and PRX-26 and PRX-34 otherwise.
func (call *prepared) comesBack(name, value string) bool {
	if isShort(call.secret) {
		return besideShort[name] && !(call.inQuery && name == "location")
	}
	holds := func(form string) bool { return strings.Contains(value, form) }
	return !hasSecret(value, call.secret) && !slices.ContainsFunc(call.forms, holds)
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
