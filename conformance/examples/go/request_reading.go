package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a request asks for, as request rules look at it (section 5.7). One that two programs could read differently is
// denied: the rules would speak of one reading, and the upstream could serve the other.

// asked is a request as the upstream would get it (RUL-04).
type asked struct {
	at     origin
	target string
	method string
	fields [][2]string
	body   []byte
}

var methodShape = regexp.MustCompile(`^[A-Z]{1,20}$`)

// isMethod is RUL-08.
func isMethod(method string) bool {
	return methodShape.MatchString(method) && method != "CONNECT" && method != "TRACE"
}

var (
	pathChars        = regexp.MustCompile(`^/(?:[A-Za-z0-9._~!$&'()*+,=:@/-]|%[0-9A-Fa-f]{2})*$`) // RFC 3986 section 3.3, without `;`
	encodedDelimiter = regexp.MustCompile(`(?i)%(?:2f|5c|3b|[01][0-9a-f]|7f)`)
	encodedTwice     = regexp.MustCompile(`%25[0-9A-Fa-f]{2}`)
	triplet          = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	unreserved       = regexp.MustCompile(`^[A-Za-z0-9._~-]$`)
	dotSegment       = regexp.MustCompile(`^\.(?:\.|%20)*$`)
)

// segmentsOf reads a path into its segments in their one spelling (RUL-06, RUL-07).
func segmentsOf(path string) ([]string, bool) {
	if len(path) > 4096 || !pathChars.MatchString(path) || strings.Contains(path, "//") || encodedDelimiter.MatchString(path) {
		return nil, false
	}
	characters, ok := percentDecoded(path)
	if !ok || looksLikeDelimiter(characters) {
		return nil, false
	}
	path = triplet.ReplaceAllStringFunc(path, func(each string) string {
		if character := tripletByte(each); unreserved.MatchString(character) {
			return character
		}
		return strings.ToUpper(each)
	})
	if encodedTwice.MatchString(path) { // Only now, since `%25%32%46` is `%252F` as well.
		return nil, false
	}
	segments := strings.Split(path[1:], "/")
	for _, segment := range segments {
		if dotSegment.MatchString(segment) {
			return nil, false
		}
	}
	return segments, true
}

func tripletByte(triplet string) string {
	value, _ := strconv.ParseUint(triplet[1:], 16, 8)
	return string([]byte{byte(value)})
}

func percentDecoded(text string) (string, bool) {
	isMalformed := strings.Count(text, "%") != len(triplet.FindAllString(text, -1))
	text = triplet.ReplaceAllStringFunc(strings.ToValidUTF8(text, "?"), tripletByte)
	return text, !isMalformed && utf8.ValidString(text)
}

// What names another method or path for the upstream to take (RUL-09).
var (
	methodHeaders = setOf("x-http-method", "x-http-method-override", "x-method-override", "x-original-method", "x-forwarded-method")
	methodNames   = setOf("_method", "_http_method", "_method_override", "$method", "$httpmethod", "$httpheaders")
	pathHeaders   = setOf("x-original-url", "x-original-uri", "x-original-path", "x-rewrite-url", "x-forwarded-uri", "x-forwarded-url",
		"x-forwarded-path", "x-forwarded-prefix", "x-script-name", "script-name", "path-info", "destination", "x-amz-copy-source",
		"x-amz-rename-source", "x-copy-from", "x-goog-copy-source", "x-ms-copy-source", "x-ms-rename-source")
	singleHeaders = setOf("host", "content-type", "content-length", "content-encoding", "transfer-encoding", "mcp-method", "mcp-name")
)

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

var notFolded = regexp.MustCompile("[^a-z0-9]")

// foldedFields writes all but letters and digits as `-`: CGI, WSGI and some servers make one variable of names that differ
// only there (RFC 3875 section 4.1.18).
func foldedFields(pairs [][2]string, size int) (map[string]string, bool) {
	fields := map[string]string{}
	for _, pair := range pairs {
		name := notFolded.ReplaceAllString(strings.ToLower(pair[0]), "-")
		_, again := fields[name]
		if !tokenShape.MatchString(pair[0]) || !isFieldValue(pair[1]) || methodHeaders[name] || pathHeaders[name] || again && singleHeaders[name] {
			return nil, false
		}
		fields[name] = pair[1]
	}
	length, hasLength := fields["content-length"]
	coding, hasCoding := fields["transfer-encoding"]
	if hasCoding {
		return fields, !hasLength && coding == "chunked"
	}
	return fields, !hasLength || length == strconv.Itoa(size)
}

var queryChars = regexp.MustCompile(`^[!$-\[\]-~]*$`)

func isPlainQuery(query string) bool { return queryChars.MatchString(query) && isPlainForm(query) }

func isPlainForm(form string) bool {
	for _, pair := range strings.FieldsFunc(form, func(each rune) bool { return each == '&' || each == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		name, ok := percentDecoded(strings.ReplaceAll(name, "+", " "))
		if !ok || namesMethod(name) {
			return false
		}
	}
	return true
}

var folding = strings.NewReplacer(" ", "_", ".", "_", "-", "_")

// namesMethod knows that PHP makes `_` of spaces, dots and brackets, and ends a name where its indexes or a NUL begin.
func namesMethod(name string) bool {
	name = strings.TrimLeftFunc(name, unicode.IsSpace)
	if end := strings.IndexAny(name, "[\x00"); end != -1 {
		name = name[:end]
	}
	name = strings.ToLower(folding.Replace(name))
	return methodNames[name] || methodHeaders[strings.ReplaceAll(name, "_", "-")]
}

var (
	charsetParameter = regexp.MustCompile(`charset[^=]*=\s*["']?([^\s"';,]*)`)
	asciiCharset     = regexp.MustCompile(`^(?:utf-?8|us-ascii|iso-8859-1)$`)
	mayNameMethod    = regexp.MustCompile(`(?i)[_$-](?:http)?method|\$httpheaders|\\u00[2-7]`)
)

// isPlainBody looks for all that a Content-Type names, since it may have the word for one format in a parameter of
// another. Rack takes a body without any for a form.
func isPlainBody(fields map[string]string, body []byte) bool {
	kind := strings.ToLower(fields["content-type"])
	isForm, isMultipart := kind == "" || strings.Contains(kind, "urlencoded"), strings.Contains(kind, "multipart")
	isJSON := strings.Contains(strings.ReplaceAll(kind, "ndjson", ""), "json")
	if !isForm && !isMultipart && !isJSON {
		return true
	}
	for _, charset := range charsetParameter.FindAllStringSubmatch(kind, -1) {
		if !asciiCharset.MatchString(charset[1]) {
			return false
		}
	}
	return isUncompressed(fields) && (!isForm || isPlainForm(string(body))) && (!isMultipart || hasPlainParts(string(body))) &&
		(!isJSON || !mayNameMethod.Match(body) || hasPlainMembers(body))
}

func isUncompressed(fields map[string]string) bool {
	coding, ok := fields["content-encoding"]
	return !ok || coding == "identity"
}

var (
	disposition = regexp.MustCompile(`(?i)content-disposition([^\n]*)(\n[ \t])?`)
	// RFC 7578 section 4.2, without what some programs decode.
	plainPart = regexp.MustCompile(`(?i)^:[ \t]*form-data;[ \t]*name="([^"\\%?\r]*)"(?:;[ \t]*filename="[^"\r]*")?` +
		"(?:;[ \\t]*filename\\*=[\\w!#$&+\\-^`{}|~'%.]+)?[ \\t]*\r?$")
)

func hasPlainParts(text string) bool {
	for _, each := range disposition.FindAllStringSubmatch(text, -1) {
		isFolded := each[2] != ""
		if !isFolded && !strings.Contains(strings.ReplaceAll(strings.ToLower(each[1]), "filename", ""), "name") {
			continue
		}
		part := plainPart.FindStringSubmatch(each[1])
		if isFolded || part == nil || namesMethod(part[1]) {
			return false
		}
	}
	return true
}

func hasPlainMembers(body []byte) bool {
	if !json.Valid(body) {
		return false
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(body, &members) != nil {
		return true // No object.
	}
	for name := range members {
		if namesMethod(name) {
			return false
		}
	}
	return true
}
