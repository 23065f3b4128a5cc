package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Operation is what of a use is signed.
type Operation struct {
	Type    string `json:"type"`
	ProxyID string `json:"proxyId,omitempty"`
	Method  string `json:"method,omitempty"`
	URL     string `json:"url,omitempty"`
	MCP     string `json:"mcp,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

var delivery = Operation{Type: "credential"}

// once leaves out what the digest has anyway.
func (o Operation) once() Operation {
	o.MCP, o.Tool = "", ""
	return o
}

func (o Operation) standing() Operation {
	o.URL, _, _ = strings.Cut(o.URL, "?")
	o.Digest = ""
	return o
}

// text is RFC 8785 section 3.2.2, with the members in the order of the protocol.
func (o Operation) text() string {
	text := `{"type":` + quoted(o.Type)
	if o.Type == "proxy" {
		text += `,"proxyId":` + quoted(o.ProxyID) + `,"method":` + quoted(o.Method) + `,"url":` + quoted(o.URL)
		if o.MCP != "" {
			text += `,"mcp":` + quoted(o.MCP)
		}
		if o.MCP == "tools/call" {
			text += `,"tool":` + quoted(o.Tool)
		}
		text += `,"digest":` + quoted(o.Digest)
	}
	return text + "}"
}

// signedText is what a decision is on (APR-22).
func (a *Approval) signedText(webhookID string) string {
	return `{"v":1,"id":` + quoted(a.ID) + `,"webhook":` + quoted(webhookID) + `,"serviceName":` + quoted(a.Service) + `,"sub":` + quoted(a.Sub) +
		`,"operation":` + a.Operation.text() + `,"askedAt":` + quoted(formatTime(a.AskedAt)) + `,"expiresAt":` + quoted(formatTime(a.ExpiresAt)) + "}"
}

// quoted is RFC 8785 section 3.2.2.2; encoding/json escapes more.
func quoted(text string) string {
	out := strings.Builder{}
	for _, each := range text {
		short := strings.IndexRune("\"\\\b\t\n\f\r", each)
		switch {
		case short != -1:
			out.WriteString(`\` + `"\btnfr`[short:short+1])
		case each < 0x20:
			fmt.Fprintf(&out, `\u%04x`, each)
		default:
			out.WriteRune(each)
		}
	}
	return `"` + out.String() + `"`
}

// described is a call as a person decides on it.
type described struct {
	use
	fields [][2]string
	body   []byte // Exactly as it is digested.
}

// describe is nil for a call that needs no approval (APR-20). It takes templates as they stand, so before fill.
func (call *prepared) describe() (*described, *Refusal) {
	operation := Operation{
		Type: "proxy", ProxyID: call.proxyID, Method: call.method,
		URL: call.address.Scheme + "://" + authorityOf(call.address) + call.sent.target,
	}
	isAtHand, body := call.bodyDigest == "", call.body
	_, fields, isPlain := call.sent.read()
	if isAtHand && call.isForMCP() { // APR-18, APR-19
		if len(body) == 0 && (call.method == "GET" || call.method == "DELETE") {
			return nil, nil
		}
		if call.method == "POST" {
			message, ok := readMessage(fields, body)
			if !ok {
				return nil, refuse("REQUEST_NOT_ALLOWED")
			}
			if message.isAnswer || matchesAny(handshake, message.method) {
				return nil, nil
			}
			operation.MCP, operation.Tool, body = message.method, message.tool, withoutNumbers(body)
		}
	}
	covered, bodyDigest := coveredFields(call.request.Header), call.bodyDigest
	if isAtHand {
		bodyDigest = sha256Digest(body)
	}
	lines := strings.Builder{}
	for _, field := range covered {
		lines.WriteString(field[0] + ": " + field[1] + "\n")
	}
	operation.Digest = sha256Digest([]byte(lines.String() + "\n" + bodyDigest)) // APR-15
	mayStand := isPlain && (isAtHand || call.config.Kind == "http")
	return &described{use{call.service, call.sub, operation, mayStand}, covered, body}, nil
}

// isForMCP says that the record's owner put a server of MCP there: whoever configures proxies could say so of any address.
func (call *prepared) isForMCP() bool {
	path, _, _ := strings.Cut(call.sent.target, "?")
	segments, isPath := segmentsOf(path)
	return call.config.Kind == "" && isPath && slices.ContainsFunc(rulesAt(call.record.Requests, call.sent.at, segments), func(rule Rule) bool { return rule.Methods == nil })
}

func sha256Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// uncovered is APR-16: what these hold changes from one attempt to the next.
var uncovered = setOf("accept-encoding", "accept-language", "b3", "baggage", "date", "idempotency-key", "last-event-id",
	"mcp-protocol-version", "mcp-session-id", "sentry-trace", "traceparent", "tracestate", "user-agent", "x-amz-date",
	"x-amz-security-token", "x-amz-user-agent", "x-amzn-trace-id", "x-client-request-id", "x-correlation-id",
	"x-goog-api-client", "x-ms-client-request-id", "x-ms-date", "x-request-id")

var uncoveredPrefixes = []string{"amz-sdk-", "x-b3-", "x-datadog-", "x-stainless-"}

func coveredFields(header http.Header) [][2]string {
	fields := [][2]string{}
	for name, values := range header {
		name = strings.ToLower(name)
		isPrefix := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if len(values) > 0 && !uncovered[name] && !slices.ContainsFunc(uncoveredPrefixes, isPrefix) {
			fields = append(fields, [2]string{name, strings.Join(values, ", ")})
		}
	}
	slices.SortFunc(fields, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return fields
}

// withoutNumbers puts 0 in the place of `id`, and of `_meta` in `params`: a client that repeats a message changes both.
func withoutNumbers(message []byte) []byte {
	var written []byte
	from := 0
	replace := func(start, end int) {
		written = append(append(written, message[from:start]...), '0')
		from = end
	}
	eachMember(message, func(name string, start, end int) {
		switch name {
		case "id":
			replace(start, end)
		case "params":
			eachMember(message[start:end], func(name string, first, last int) {
				if name == "_meta" {
					replace(start+first, start+last)
				}
			})
		}
	})
	return append(written, message[from:]...)
}

// eachMember says where the values of an object stand in its text, which is known to be one object or null.
func eachMember(text []byte, visit func(name string, start, end int)) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if brace, _ := decoder.Token(); brace != json.Delim('{') {
		return
	}
	for decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return
		}
		end := int(decoder.InputOffset())
		visit(name.(string), end-len(value), end)
	}
}
