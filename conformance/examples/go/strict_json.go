package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"time"
	"unicode/utf8"
)

// Object is a JSON object as it was sent. encoding/json would compare the names of a struct's fields without letter
// case, so bodies are read into maps (TRN-06).
type Object = map[string]any

const maxDepth = 32

var errJSON = errors.New("not the JSON that the protocol asks for")

// parseObject reads one JSON object (TRN-02 to TRN-06, TRN-10).
func parseObject(text []byte) (Object, error) { return parse(text, false) }

// parseAsWritten keeps null apart from absent, as other protocols do, and refuses what the decoder would replace.
func parseAsWritten(text []byte) (Object, error) {
	for _, escape := range surrogates.FindAllSubmatch(text, -1) {
		if len(escape[1]) > 0 {
			return nil, errJSON
		}
	}
	return parse(text, true)
}

// surrogates finds escapes, and in its group those of half a character.
var surrogates = regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)`)

func parse(text []byte, keepsNull bool) (Object, error) {
	if !utf8.Valid(text) || bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return nil, errJSON
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := readValue(decoder, 1, keepsNull)
	if err != nil {
		return nil, errJSON
	}
	object, ok := value.(Object)
	if _, err := decoder.Token(); !ok || !errors.Is(err, io.EOF) {
		return nil, errJSON
	}
	return object, nil
}

func readValue(decoder *json.Decoder, depth int, keepsNull bool) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if number, ok := token.(json.Number); ok {
		if _, err := number.Float64(); err != nil { // 1e400: infinite to one program, an error to another.
			return nil, errJSON
		}
	}
	delimiter, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	if depth > maxDepth {
		return nil, errJSON
	}
	if delimiter == '[' {
		list := []any{}
		for decoder.More() {
			value, err := readValue(decoder, depth+1, keepsNull)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	}
	object, seen := Object{}, map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := name.(string)
		if seen[key] {
			return nil, errJSON
		}
		seen[key] = true
		value, err := readValue(decoder, depth+1, keepsNull)
		if err != nil {
			return nil, err
		}
		if value != nil || keepsNull { // Otherwise null counts as absent.
			object[key] = value
		}
	}
	_, err = decoder.Token()
	return object, err
}

// text is a member that is a string.
func text(object Object, name string) (string, bool) {
	value, ok := object[name].(string)
	return value, ok
}

// integer is a member that is an integer below 2^53.
func integer(object Object, name string) (int64, bool) {
	number, ok := object[name].(json.Number)
	if !ok {
		return 0, false
	}
	value, err := number.Int64()
	return value, err == nil && value > -(1<<53) && value < 1<<53
}

// optionalInteger is absent (nil), an integer, or wrong.
func optionalInteger(object Object, name string) (*int64, bool) {
	if object[name] == nil {
		return nil, true
	}
	value, ok := integer(object, name)
	return &value, ok
}

// texts is a member that is a list of strings.
func texts(object Object, name string) ([]string, bool) {
	list, ok := object[name].([]any)
	values := make([]string, 0, len(list))
	for _, each := range list {
		value, isText := each.(string)
		values, ok = append(values, value), ok && isText
	}
	return values, ok
}

const timeLayout = "2006-01-02T15:04:05.000Z"

func formatTime(at time.Time) string { return at.UTC().Format(timeLayout) }

// parseTime takes UTC with zero to nine digits after the second (TRN-14).
func parseTime(value string) (time.Time, bool) {
	at, err := time.Parse("2006-01-02T15:04:05.999999999Z", value)
	return at, err == nil
}
