package main

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// wanted is what an agent asks of a proxy: the request that it makes, or one that somebody is to approve.
type wanted struct {
	sub, service, proxyID, method string

	target     []string // sv-target, as often as it came.
	header     http.Header
	covered    []string // Names of the fields that the service signed.
	body       []byte
	bodyDigest string // Of a body that is not at hand.
}

// prepared is a call that may be made.
type prepared struct {
	wanted
	config  Proxy
	record  *Record
	rest    string // Target of the request without the credential; "" is that of the stored URL.
	sent    asked  // With the markers of the templates.
	request *http.Request
	address *url.URL // Of the request; a Location is resolved against it.
	follows bool     // Redirects (HTP-30).
	secret  string
	forms   []string // Forms in which the secret is injected.
	inQuery bool
	shows   func(tool string) bool // Which of the tools that the answer lists are handed on (RUL-14); nil: all of it is.
}

// admitCall decides who, where and how before anything is called (PRX-19). What it answers uses the approval up.
func (wh *Webhook) admitCall(r *http.Request, signature *Signature, body []byte) (*prepared, []Op, *Refusal) {
	ticket, _, refusal := wh.admitTicket(r.Header.Get("Sv-Ticket"), "proxy")
	if refusal != nil {
		return nil, nil, refusal
	}
	var approval *Approval
	call, refusal := wh.plan(wanted{
		sub: ticket.Sub, service: ticket.Svc, proxyID: ticket.Prx, method: ticket.Htm,
		target: r.Header.Values("Sv-Target"), header: r.Header, covered: signature.Components, body: body,
	})
	if refusal == nil {
		approval, refusal = wh.approvalOfCall(call)
	}
	if refusal == nil {
		refusal = call.fill()
	}
	ops := wh.used("CREDENTIAL_INJECTED", ticket.Svc, ticket.Sub, refusal)
	if refusal == nil {
		ops = append(ops, approval.useUp()...)
	}
	return call, ops, refusal
}

// plan decides on all of a call but its credential.
func (wh *Webhook) plan(want wanted) (*prepared, *Refusal) {
	config := Proxy{}
	known := wh.journal.Get("proxy/"+want.proxyID, &config)
	record := wh.record(config.ServiceName)
	if !known {
		return nil, refuse("NOT_FOUND")
	}
	if config.ServiceName != want.service { // TIX-39
		return nil, refuse("DESTINATION_NOT_ALLOWED")
	}
	if record == nil {
		return nil, refuse("NOT_FOUND")
	}
	upstream, err := url.Parse(config.UpstreamURL)
	if err != nil || !originOf(upstream).isAmong(record.AllowedHosts) || !wh.schemeFits(upstream) || !templatesFit(config.HeaderTemplates, record.AllowedHeaders) {
		return nil, refuse("DESTINATION_NOT_ALLOWED")
	}
	for name, template := range config.QueryTemplates { // HTP-25
		if marker.MatchString(template) && !slices.Contains(record.AllowedQuery, name) {
			return nil, refuse("DESTINATION_NOT_ALLOWED")
		}
	}
	target, refusal := targetOf(want.target, config, upstream, want.method)
	if refusal != nil {
		return nil, refusal
	}
	travels := travelsOut
	if config.Kind == "http" {
		travels = travelsToAPI(want.header, want.covered)
	}
	request, err := unfilled(want, travels, config)
	if err != nil {
		return nil, refuse("DESTINATION_NOT_ALLOWED")
	}
	call := &prepared{wanted: want, config: config, record: record, rest: target, request: request, address: request.URL, follows: config.Redirects != ""}
	call.ask(withQuery(target, config.QueryTemplates)) // HTP-15
	call.sent = sentBy(request, want.body)
	if record.Requests != nil && want.bodyDigest == "" { // RUL-05, RUL-15, APR-07
		listsTools, ok := decide(record.Requests, call.sent)
		if !ok {
			return nil, refuse("REQUEST_NOT_ALLOWED")
		}
		if listsTools {
			call.shows = shownAt(record.Requests, call.sent)
		}
	}
	return call, nil
}

// fill puts the credential in.
func (call *prepared) fill() *Refusal {
	config := call.config
	call.secret = call.record.accessToken()
	if call.secret == "" {
		return refuse("EMPTY_TOKEN")
	}
	if isShort(call.secret) && !call.record.AllowShort { // PRX-47
		return refuse("NOT_INJECTABLE")
	}
	for name, template := range config.HeaderTemplates {
		value := putIn(template, call.secret)
		if !isFieldValue(value) || marker.MatchString(template) && !isFieldValue(call.secret) { // HTP-23
			return refuse("NOT_INJECTABLE")
		}
		call.request.Header.Set(name, value)
	}
	parameters := map[string]string{}
	for name, template := range config.QueryTemplates {
		if marker.MatchString(template) && !isFieldValue(call.secret) {
			return refuse("NOT_INJECTABLE")
		}
		parameters[name] = putIn(template, call.secret)
		call.inQuery = call.inQuery || marker.MatchString(template)
	}
	call.forms = formsOf(config, call.secret)
	call.ask(withQuery(call.rest, parameters))
	return nil
}

// ask sets the request target, byte for byte, past the encoding of net/url; "" leaves the stored URL.
func (call *prepared) ask(target string) {
	if target == "" {
		return
	}
	call.request.URL = &url.URL{Scheme: call.address.Scheme, Host: call.address.Host, Opaque: target}
	if address, err := call.address.Parse(target); err == nil {
		call.address = address
	}
}

// unfilled is the request as it will be sent, with the markers where the secret will stand.
func unfilled(want wanted, travels func(name string) bool, config Proxy) (*http.Request, error) {
	request, err := http.NewRequest(want.method, config.UpstreamURL, bytes.NewReader(want.body))
	if err != nil {
		return nil, err
	}
	if len(want.body) == 0 {
		request.Body = http.NoBody
	}
	request.Header["User-Agent"] = nil // Not Go's own where the agent has none.
	for name, values := range want.header {
		if travels(strings.ToLower(name)) {
			request.Header[name] = values
		}
	}
	request.Header.Set("Accept-Encoding", "identity")
	for name, template := range config.HeaderTemplates {
		request.Header.Set(name, template)
	}
	return request, nil
}

// sentBy is what the rules are compared with (RUL-04): net/http adds the two lines that the header does not have.
func sentBy(request *http.Request, body []byte) asked {
	fields := [][2]string{{"host", request.URL.Host}, {"content-length", strconv.Itoa(len(body))}}
	for name, values := range request.Header {
		for _, value := range values {
			fields = append(fields, [2]string{name, value})
		}
	}
	return asked{originOf(request.URL), request.URL.RequestURI(), request.Method, fields, body}
}

// templatesFit is PRX-12 and PRX-15.
func templatesFit(templates map[string]string, allowed []string) bool {
	for name, value := range templates {
		name = strings.ToLower(name)
		marked := marker.MatchString(value)
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
