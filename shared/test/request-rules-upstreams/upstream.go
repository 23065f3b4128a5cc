// Reads a request per line, in base64, as a Go server would, and prints its reading, a line of JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
)

type message struct {
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
}

type callParams struct {
	Name      *string `json:"name"`
	Arguments struct {
		Repo   any `json:"repo"`
		Number any `json:"number"`
	} `json:"arguments"`
}

func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// As http.ServeMux cleans it.
func clean(decoded string) string {
	cleaned := path.Clean(decoded)
	if strings.HasSuffix(decoded, "/") && cleaned != "/" {
		return cleaned + "/"
	}
	return cleaned
}

func method(request *http.Request, body []byte) string {
	if named := request.Header.Get("X-Http-Method-Override"); named != "" {
		return strings.ToUpper(named)
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	// What could be parsed is in Form, whatever the error is.
	_ = request.ParseForm()
	if request.Form.Has("_method") {
		return strings.ToUpper(request.Form.Get("_method"))
	}
	return request.Method
}

func read(raw []byte) (any, error) {
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	var asked message
	var call callParams
	if request.Method == "POST" && strings.HasPrefix(strings.ToLower(request.Header.Get("Content-Type")), "application/json") {
		if err := decode(body, &asked); err != nil {
			return nil, err
		}
		if asked.Method != nil && *asked.Method == "tools/call" {
			if err := decode(asked.Params, &call); err != nil {
				return nil, err
			}
		}
	}
	read := clean(request.URL.Path)
	if original := request.Header.Get("X-Original-Url"); original != "" {
		read = original
	}
	repo, number := call.Arguments.Repo, call.Arguments.Number
	if text, ok := number.(json.Number); ok {
		number = text.String()
	}
	return []any{method(request, body), read, asked.Method, call.Name, repo, number}, nil
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var reading any = "refused"
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line)); err == nil {
			if made, err := read(raw); err == nil {
				reading = made
			}
		}
		if out.Encode(reading) != nil {
			return
		}
	}
}
