package main

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// message is one of MCP. One of tools/call has a tool and arguments.
type message struct {
	isAnswer     bool // To what the upstream asked.
	method, tool string
	arguments    Object
}

var jsonType = regexp.MustCompile(`(?i)^application/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$`)

// readMessage reads one JSON-RPC 2.0 message with one reading (RUL-10, RUL-11).
func readMessage(fields map[string]string, body []byte) (message, bool) {
	object, err := parseAsWritten(body) // Refuses a batch, and a name twice.
	hasMethod, hasParams := has(object, "method"), has(object, "params")
	isAnswer := has(object, "result") || has(object, "error")
	if err != nil || !jsonType.MatchString(fields["content-type"]) || !isUncompressed(fields) ||
		!isPlainCase(object, "jsonrpc", "id", "method", "params", "result", "error") || object["jsonrpc"] != "2.0" {
		return message{}, false
	}
	switch object["id"].(type) {
	case nil, string, json.Number:
	default:
		return message{}, false
	}
	if isAnswer && !hasMethod && !hasParams {
		return message{isAnswer: true}, !has(fields, "mcp-method") && !has(fields, "mcp-name")
	}
	method, isText := text(object, "method")
	params, isObject := orEmpty(object["params"])
	if isAnswer || !isText || !isObject || !isPlainCase(params, "name", "arguments", "uri", "_meta") ||
		!isMirrored(fields, method, params) {
		return message{}, false
	}
	if method != "tools/call" {
		return message{method: method}, true
	}
	tool, isText := text(params, "name")
	arguments, isObject := orEmpty(params["arguments"])
	return message{method: method, tool: tool, arguments: arguments}, isText && isObject
}

func has[V any](object map[string]V, name string) bool {
	_, ok := object[name]
	return ok
}

// orEmpty reads an object, for which some programs write null where it is absent.
func orEmpty(value any) (Object, bool) {
	object, ok := value.(Object)
	return object, ok || value == nil
}

// isPlainCase says that no name differs from a known one in letter case alone: encoding/json for one would not tell them
// apart.
func isPlainCase(object Object, known ...string) bool {
	for name := range object {
		for _, each := range known {
			if name != each && foldCase(name) == each {
				return false
			}
		}
	}
	return true
}

// foldCase goes by capitals first: `ſ` is another small letter of `S`.
func foldCase(text string) string { return strings.ToLower(strings.ToUpper(text)) }

var encodedName = regexp.MustCompile(`(?i)^=\?base64\?.*\?=$`)

// isMirrored says that the headers that repeat members of the body, by which gateways go, do so.
func isMirrored(fields map[string]string, method string, params Object) bool {
	if said, ok := fields["mcp-method"]; ok && said != method {
		return false
	}
	said, ok := fields["mcp-name"]
	if !ok {
		return true
	}
	member := "name"
	if method == "resources/read" {
		member = "uri"
	}
	name, isText := text(params, member)
	if encodedName.MatchString(said) {
		name = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
	}
	return isText && said == name
}
