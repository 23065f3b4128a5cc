package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rule is one of section 5.7: what a proxy may ask with a record. It is listed as it was stored (RUL-01).
type Rule struct {
	Hosts     []string         `json:"hosts,omitempty"`
	Paths     []string         `json:"paths"`
	Methods   []string         `json:"methods,omitempty"`
	Tools     []string         `json:"tools,omitempty"`
	Arguments map[string][]any `json:"arguments,omitempty"` // Texts, booleans, nil, and integers as float64.
	MCP       []string         `json:"mcp,omitempty"`
}

const (
	maxRules     = 50
	maxEntries   = 500
	maxRuleBytes = 16 << 10
)

// readRules is RUL-02.
func readRules(value any) ([]Rule, bool) {
	list, ok := value.([]any)
	if !ok || len(list) < 1 || len(list) > maxRules {
		return nil, false
	}
	rules, entries := make([]Rule, len(list)), len(list)
	for at, each := range list {
		object, _ := each.(Object)
		if !rules[at].read(object) {
			return nil, false
		}
		entries += rules[at].entries()
	}
	text := strings.Builder{}
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	return rules, encoder.Encode(rules) == nil && text.Len()-1 <= maxRuleBytes && entries <= maxEntries
}

func (r *Rule) read(object Object) bool {
	kinds := 0
	for name, value := range object {
		ok := false
		switch name {
		case "hosts":
			r.Hosts, ok = listOf(value, 50, func(host string) bool { return host != "*" && isHostEntry(host) })
		case "paths":
			r.Paths, ok = listOf(value, 50, isPathPattern)
		case "methods":
			r.Methods, ok = listOf(value, 20, isMethod)
			kinds++
		case "tools":
			r.Tools, ok = listOf(value, 50, patternShape.MatchString)
			kinds++
		case "mcp":
			r.MCP, ok = listOf(value, 50, patternShape.MatchString)
			kinds++
		case "arguments":
			ok = object["tools"] != nil && r.readArguments(value)
		}
		if !ok {
			return false
		}
	}
	return kinds == 1 && r.Paths != nil
}

func (r *Rule) entries() int {
	count := len(r.Hosts) + len(r.Paths) + len(r.Methods) + len(r.Tools) + len(r.MCP)
	for _, values := range r.Arguments {
		count += len(values)
	}
	return count
}

func listOf(value any, most int, isEntry func(string) bool) ([]string, bool) {
	list, ok := texts(Object{"": value}, "")
	for _, each := range list {
		ok = ok && isEntry(each)
	}
	return list, ok && len(list) >= 1 && len(list) <= most
}

var (
	patternShape = regexp.MustCompile(`^[\x21-\x7e]{1,200}$`)
	pointerShape = regexp.MustCompile(`^(?:/(?:[^~/]|~[01])*)+$`)
)

func isPathPattern(text string) bool {
	segments, ok := segmentsOf(text)
	for at, segment := range segments {
		isRest := segment == "**" && at == len(segments)-1
		ok = ok && (segment == "*" || isRest || !strings.Contains(segment, "*"))
	}
	return ok
}

func (r *Rule) readArguments(value any) bool {
	pointers, ok := value.(Object)
	r.Arguments = map[string][]any{}
	for pointer, each := range pointers {
		list, isList := each.([]any)
		values := make([]any, len(list))
		for at, member := range list {
			values[at] = member
			switch scalar := member.(type) {
			case string:
				ok = ok && utf8.RuneCountInString(scalar) <= 1000
			case json.Number:
				number, isInteger := integer(Object{"": scalar}, "")
				values[at], ok = float64(number), ok && isInteger
			case bool, nil:
			default:
				ok = false
			}
		}
		ok = ok && isList && pointerShape.MatchString(pointer) && len(values) >= 1 && len(values) <= 100
		r.Arguments[pointer] = values
	}
	return ok && len(r.Arguments) >= 1 && len(r.Arguments) <= 20
}

// decide says whether a rule matches the request whole (RUL-03), and whether tools have to be left out of the answer.
func decide(rules []Rule, request asked) (listsTools, ok bool) {
	segments, fields, isPlain := request.read()
	if !isPlain {
		return false, false
	}
	var forMCP []Rule
	for _, rule := range rulesAt(rules, request.at, segments) {
		if rule.Methods == nil {
			forMCP = append(forMCP, rule)
		} else if rule.allowsMethod(request.method) {
			return false, true
		}
	}
	if len(forMCP) == 0 {
		return false, false
	}
	if (request.method == "GET" || request.method == "DELETE") && len(request.body) == 0 {
		return true, true // The stream of what the server sends, and the end of a session (RUL-10).
	}
	message, isMessage := readMessage(fields, request.body)
	if request.method != "POST" || !isMessage {
		return false, false
	}
	for _, rule := range forMCP { // All of them, so that their order does not decide whether an ambiguity is met.
		allows, isClear := rule.allowsMessage(message)
		if !isClear {
			return false, false
		}
		ok = ok || allows
	}
	return ok && message.method == "tools/list", ok
}

// read is RUL-07 to RUL-09: the path and the fields of a request that names no other method or path.
func (request asked) read() (segments []string, fields map[string]string, isPlain bool) {
	path, query, _ := strings.Cut(request.target, "?")
	segments, isPath := segmentsOf(path)
	fields, areFields := foldedFields(request.fields, len(request.body))
	isPlain = isMethod(request.method) && isPath && areFields && isPlainQuery(query)
	if request.method == "POST" && len(request.body) > 0 {
		isPlain = isPlain && isPlainBody(fields, request.body)
	}
	return segments, fields, isPlain
}

// rulesAt are those whose hosts and paths match.
func rulesAt(rules []Rule, at origin, segments []string) []Rule {
	var there []Rule
	for _, rule := range rules {
		matches := false
		for _, path := range rule.Paths {
			pattern, _ := segmentsOf(path)
			matches = matches || matchesPath(pattern, segments)
		}
		if matches && (rule.Hosts == nil || at.isAmong(rule.Hosts)) {
			there = append(there, rule)
		}
	}
	return there
}

func matchesPath(pattern, segments []string) bool {
	if fixed := len(pattern) - 1; pattern[fixed] == "**" {
		if len(segments) <= fixed {
			return false
		}
		pattern, segments = pattern[:fixed], segments[:fixed]
	}
	if len(pattern) != len(segments) {
		return false
	}
	for at, each := range pattern {
		if each == "*" && segments[at] == "" || each != "*" && each != segments[at] {
			return false
		}
	}
	return true
}

func (r Rule) allowsMethod(method string) bool {
	for _, each := range r.Methods {
		if each == method || each == "GET" && method == "HEAD" {
			return true
		}
	}
	return false
}

// shownAt says of a tool's name whether some call of it is allowed there (RUL-14).
func shownAt(rules []Rule, request asked) func(string) bool {
	path, _, _ := strings.Cut(request.target, "?")
	segments, _ := segmentsOf(path)
	there := rulesAt(rules, request.at, segments)
	return func(name string) bool {
		for _, rule := range there {
			if rule.allowsTool(name) {
				return true
			}
		}
		return false
	}
}

var handshake = []string{"initialize", "server/discover", "ping", "notifications/*", "tools/list"} // RUL-12

// allowsMessage says also whether the arguments that it looked at have one reading (RUL-13, RUL-16).
func (r Rule) allowsMessage(given message) (allows, isClear bool) {
	if given.method != "tools/call" {
		return given.isAnswer || matchesAny(handshake, given.method) || matchesAny(r.MCP, given.method), true
	}
	if !r.allowsTool(given.tool) {
		return false, true
	}
	allows = true
	for pointer, values := range r.Arguments {
		value, found, isClear := valueAt(given.arguments, pointer)
		if !isClear {
			return false, false
		}
		allows = allows && found && isOneOf(values, value)
	}
	return allows, true
}

func (r Rule) allowsTool(name string) bool {
	return matchesAny(r.Tools, name) || matchesAny(r.MCP, "tools/call")
}

func matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if matchesName(pattern, name) {
			return true
		}
	}
	return false
}

// matchesName takes `*` for any number of characters.
func matchesName(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == name
	}
	rest, starts := strings.CutPrefix(name, parts[0])
	if !starts {
		return false
	}
	for _, part := range parts[1:last] {
		at := strings.Index(rest, part)
		if at == -1 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

var indexShape = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,8})$`)

// valueAt follows a JSON pointer (RFC 6901). It is not clear where a name differs from another in letter case alone.
func valueAt(value any, pointer string) (at any, found, isClear bool) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch each := value.(type) {
		case Object:
			for name := range each {
				if name != token && foldCase(name) == foldCase(token) {
					return nil, false, false
				}
			}
			if value, found = each[token]; !found {
				return nil, false, true
			}
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || !indexShape.MatchString(token) || index >= len(each) {
				return nil, false, true
			}
			value, found = each[index], true
		default:
			return nil, false, true
		}
	}
	return value, found, true
}

// isOneOf takes a number only where it is written as an integer: not every upstream reads 1.0 as one.
func isOneOf(values []any, given any) bool {
	if number, ok := given.(json.Number); ok {
		whole, err := number.Int64()
		if err != nil || whole <= -(1<<53) || whole >= 1<<53 {
			return false
		}
		given = float64(whole)
	}
	for _, value := range values {
		if value == given {
			return true
		}
	}
	return false
}
