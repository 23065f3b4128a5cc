package main

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	httpMethod   = regexp.MustCompile(`^[A-Z-]{1,20}$`)
	queryName    = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,128}$`)
	targetShape  = regexp.MustCompile(`^(?:[/?][!"$-\[\]-~]*)?$`) // Visible ASCII without `#` and `\`.
	encodedAgain = regexp.MustCompile(`%(?:25)+`)
	dotsOnly     = regexp.MustCompile(`^\.[. ]*(?:;.*)?$`)
	marker       = regexp.MustCompile(`\$\{TOKEN\}|\$<TOKEN>|\$\{BASIC:([!-9;-|~]{0,128})\}`) // PRX-13, HTP-21
)

// isHTTPMethod is HTP-10.
func isHTTPMethod(method string) bool {
	return httpMethod.MatchString(method) && method != "CONNECT" && method != "TRACE"
}

func isMCPMethod(method string) bool {
	return method == "GET" || method == "POST" || method == "DELETE" || method == "OPTIONS"
}

// areQueryNames is HTP-05.
func areQueryNames(names []string) bool {
	return len(names) >= 1 && len(names) <= 5 && !slices.ContainsFunc(names, func(name string) bool { return !queryName.MatchString(name) })
}

// readHTTPMembers is HTP-03 and HTP-04: the members that a configuration of MCP does not have.
func (p *Proxy) readHTTPMembers(operation Object) bool {
	ok := true
	if operation["kind"] != nil {
		p.Kind, _ = text(operation, "kind")
		ok = p.Kind == "http" && !strings.Contains(p.UpstreamURL, "?")
	}
	if operation["redirects"] != nil {
		p.Redirects, _ = text(operation, "redirects")
		ok = ok && p.Redirects == "follow-without-credential" && p.Kind == "http"
	}
	if operation["queryTemplates"] != nil {
		templates, isObject := operation["queryTemplates"].(Object)
		var names []string
		p.QueryTemplates = map[string]string{}
		for name, each := range templates {
			value, isText := each.(string)
			isObject = isObject && isText && len(value) <= 512 && valueShape.MatchString(value)
			names, p.QueryTemplates[name] = append(names, name), value
		}
		ok = ok && isObject && areQueryNames(names) && p.Kind == "http"
	}
	return ok
}

// targetOf is the request target without the credential (HTP-09 to HTP-14, HTP-26); "" means that of the stored URL.
func targetOf(given []string, config Proxy, upstream *url.URL, method string) (string, *Refusal) {
	if config.Kind == "" {
		if len(given) > 0 || !isMCPMethod(method) {
			return "", refuse("DESTINATION_NOT_ALLOWED")
		}
		return "", nil
	}
	if len(given) != 1 {
		return "", refuse("DESTINATION_NOT_ALLOWED")
	}
	rest, base := given[0], strings.TrimSuffix(upstream.EscapedPath(), "/")
	path, query, _ := strings.Cut(rest, "?")
	ok := len(rest) <= 8192 && targetShape.MatchString(rest) && !(base == "" && strings.HasPrefix(path, "//"))
	// The segments that a program sees which decodes the path, even repeatedly, before it splits it.
	for _, segment := range strings.FieldsFunc(unescaped(encodedAgain.ReplaceAllString(path, "%")), isSlash) {
		ok = ok && !dotsOnly.MatchString(segment)
	}
	for _, pair := range strings.FieldsFunc(query, func(each rune) bool { return each == '&' || each == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		_, isTaken := config.QueryTemplates[unescaped(strings.ReplaceAll(name, "+", " "))]
		ok = ok && !isTaken
	}
	if !ok {
		return "", refuse("REQUEST_NOT_ALLOWED")
	}
	if !strings.HasPrefix(base+rest, "/") {
		return "/" + rest, nil
	}
	return base + rest, nil
}

func isSlash(each rune) bool { return each == '/' || each == '\\' }

// unescaped decodes each escape by itself, so that a broken one hides nothing.
func unescaped(text string) string {
	return triplet.ReplaceAllStringFunc(text, func(escape string) string {
		decoded, _ := url.PathUnescape(escape)
		return decoded
	})
}

// withQuery is HTP-24; names need no encoding (HTP-04).
func withQuery(target string, parameters map[string]string) string {
	names := make([]string, 0, len(parameters))
	for name := range parameters {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case !strings.Contains(target, "?"):
			target += "?"
		// A later question mark is part of a value.
		case strings.IndexByte(target, '?') != len(target)-1:
			target += "&"
		}
		target += name + "=" + percentEncoded(parameters[name])
	}
	return target
}

var leftPlain = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

func percentEncoded(value string) string { return leftPlain.Replace(url.QueryEscape(value)) }

// putIn replaces the markers of a template, in one pass.
func putIn(template, secret string) string {
	return marker.ReplaceAllStringFunc(template, func(found string) string {
		if user, isBasic := strings.CutPrefix(found, "${BASIC:"); isBasic {
			return base64.StdEncoding.EncodeToString([]byte(strings.TrimSuffix(user, "}") + ":" + secret))
		}
		return secret
	})
}

// formsOf are the forms in which the secret is injected, none of which may come back (PRX-26, HTP-22, HTP-27).
func formsOf(config Proxy, secret string) []string {
	forms := []string{secret, percentEncoded(secret)}
	for _, templates := range []map[string]string{config.HeaderTemplates, config.QueryTemplates} {
		for _, template := range templates {
			for _, found := range marker.FindAllString(template, -1) {
				forms = append(forms, putIn(found, secret))
			}
		}
	}
	return forms
}

// travelsToAPI is HTP-18: the fields that the signature covers, except those of HTP-16.
func travelsToAPI(agents http.Header, covered []string) func(name string) bool {
	var named []string
	for _, name := range strings.Split(strings.Join(agents.Values("Connection"), ","), ",") {
		named = append(named, strings.ToLower(strings.TrimSpace(name)))
	}
	return func(name string) bool {
		return slices.Contains(covered, name) && !slices.Contains(named, name) && !isWithheld(name)
	}
}

func isWithheld(name string) bool {
	switch name {
	case "host", "content-length", "expect", "accept-encoding", "connection", "keep-alive", "te", "trailer", "transfer-encoding",
		"upgrade", "http2-settings", "authorization", "x-mcp-key", "x-agent-key", "cookie", "cookie2", "origin", "referer",
		"forwarded", "x-real-ip", "via", "content-digest", "signature", "signature-input":
		return true
	}
	for _, prefix := range []string{"x-forwarded-", "proxy-", "sec-", "sv-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

const maxRedirects = 3

// follow follows redirects (HTP-30 to HTP-33). It returns the answer to hand back, and whether a redirect led to it.
func (wh *Webhook) follow(call *prepared, answer *http.Response, err error) (*http.Response, bool, *Refusal) {
	if err != nil {
		return nil, false, failureOf(err)
	}
	method, first, here := call.request.Method, call.request.URL, call.address
	for hops := 0; ; hops++ {
		next := call.redirect(answer, here)
		if next == nil || hops == 0 && originOf(next) == originOf(first) {
			if hops > 0 && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusProxyAuthRequired) {
				answer.Body.Close()
				return nil, true, refuse("UPSTREAM_ERROR")
			}
			return answer, hops > 0, nil
		}
		answer.Body.Close()
		if hops == maxRedirects || !wh.schemeFits(next) || first.Scheme == "https" && next.Scheme != "https" {
			return nil, true, refuse("UPSTREAM_ERROR")
		}
		request := &http.Request{Method: method, URL: next, Host: next.Host, Header: http.Header{"User-Agent": nil, "Accept-Encoding": {"identity"}}}
		if answer, err = wh.caller().Do(request.WithContext(call.request.Context())); err != nil {
			failure := failureOf(err)
			if failure.Code == "DESTINATION_NOT_ALLOWED" {
				failure = refuse("UPSTREAM_ERROR")
			}
			return nil, true, failure
		}
		here = next
	}
}

// redirect is the URL that an answer redirects to; nil where that is not to be followed.
func (call *prepared) redirect(answer *http.Response, here *url.URL) *url.URL {
	method, locations := call.request.Method, answer.Header.Values("Location")
	if !call.follows || method != "GET" && method != "HEAD" || call.request.ContentLength != 0 || len(locations) != 1 {
		return nil
	}
	switch answer.StatusCode {
	case 300, 301, 302, 303, 307, 308:
	default:
		return nil
	}
	next, err := here.Parse(locations[0])
	if err != nil || !isUpstream(strings.TrimSuffix(next.String(), "#"+next.EscapedFragment())) || !call.comesBack("location", locations[0]) {
		return nil
	}
	next.Fragment = ""
	return next
}
