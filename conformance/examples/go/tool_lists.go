package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Lists of tools, of which an agent gets only those that it may call (RUL-14).

const maxList = 8 << 20 // Bytes of a list, or of a line of an event.

// hideTools leaves tools that are not shown out of an answer, and says whether it can be read.
func hideTools(answer *http.Response, shows func(string) bool) bool {
	kind := strings.ToLower(strings.Join(answer.Header.Values("Content-Type"), ","))
	isStream := strings.Contains(kind, "event-stream")
	if !isStream && !strings.Contains(kind, "json") {
		return true
	}
	if coding := strings.ToLower(answer.Header.Get("Content-Encoding")); coding != "" && coding != "identity" {
		return false
	}
	answer.Header.Del("Content-Length")
	var visible io.Reader = newEvents(answer.Body, shows)
	if !isStream {
		late := time.AfterFunc(answerTime, func() { answer.Body.Close() })
		defer late.Stop()
		list, err := io.ReadAll(io.LimitReader(answer.Body, maxList+1))
		if err != nil || len(list) > maxList {
			return false
		}
		if len(list) > 0 {
			if list, err = visibleOf(list, shows); err != nil {
				return false
			}
		}
		visible = bytes.NewReader(list)
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{visible, answer.Body}
	return true
}

// visibleOf writes a list anew, also where nothing is hidden: a name that stands twice means one thing then.
func visibleOf(list []byte, shows func(string) bool) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(list))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errJSON
	}
	messages, isBatch := value.([]any)
	if !isBatch {
		messages = []any{value}
	}
	for _, message := range messages {
		for _, result := range membersNamed(message, "result") {
			hideIn(result, shows)
		}
	}
	return json.Marshal(value)
}

func hideIn(result any, shows func(string) bool) {
	object, _ := result.(Object)
	for name, value := range object {
		tools, isList := value.([]any)
		if !isList || foldCase(name) != "tools" {
			continue
		}
		visible := []any{}
		for _, tool := range tools {
			names := membersNamed(tool, "name")
			isShown := len(names) > 0
			for _, each := range names {
				name, isText := each.(string)
				isShown = isShown && isText && shows(name)
			}
			if isShown {
				visible = append(visible, tool)
			}
		}
		object[name] = visible
	}
}

// membersNamed are all of that name, since some clients read names without case.
func membersNamed(value any, wanted string) []any {
	object, _ := value.(Object)
	var members []any
	for name, member := range object {
		if foldCase(name) == wanted {
			members = append(members, member)
		}
	}
	return members
}

// events reads a stream of them (WHATWG HTML section 9.2.6), each without the tools that are not shown. They end with
// an empty line; what is left at the end is none.
type events struct {
	lines *bufio.Scanner
	shows func(string) bool
	size  int
	event []string
	ready []byte
}

func newEvents(stream io.Reader, shows func(string) bool) *events {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxList)
	isFirst, isAfterCR := true, false
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		start := 0
		if isAfterCR && bytes.HasPrefix(data, []byte("\n")) {
			start = 1 // The other half of a line's end.
		}
		length := bytes.IndexAny(data[start:], "\r\n")
		if length == -1 {
			return 0, nil, nil
		}
		end := start + length
		line := data[start:end]
		isAfterCR = data[end] == '\r'
		if isFirst {
			line, isFirst = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), false
		}
		return end + 1, line, nil
	})
	return &events{lines: lines, shows: shows}
}

func (e *events) Read(into []byte) (int, error) {
	for len(e.ready) == 0 {
		if !e.lines.Scan() {
			if err := e.lines.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		line := e.lines.Text()
		if line != "" {
			e.event = append(e.event, line)
			if e.size += len(line); e.size > maxList {
				return 0, errJSON
			}
			continue
		}
		if len(e.event) > 0 {
			var err error
			if e.ready, err = visibleEvent(e.event, e.shows); err != nil {
				return 0, err
			}
			e.event, e.size = nil, 0
		}
	}
	copied := copy(into, e.ready)
	e.ready = e.ready[copied:]
	return copied, nil
}

var mayListTools = regexp.MustCompile(`(?i)tools|\\u`) // However the name is escaped.

func visibleEvent(lines []string, shows func(string) bool) ([]byte, error) {
	var data, others []string
	for _, line := range lines {
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(value, " "))
		} else if line == "data" {
			data = append(data, "")
		} else {
			others = append(others, line)
		}
	}
	if text := strings.Join(data, "\n"); mayListTools.MatchString(text) {
		list, err := visibleOf([]byte(text), shows)
		if err != nil {
			return nil, err
		}
		lines = append(others, "data: "+string(list))
	}
	return []byte(strings.Join(lines, "\n") + "\n\n"), nil
}
