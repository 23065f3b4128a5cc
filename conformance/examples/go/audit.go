package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Entry is one line of the log, as it is listed.
type Entry struct {
	Seq    int64           `json:"seq"`
	Source string          `json:"source"`
	Hash   string          `json:"hash"`
	Event  json.RawMessage `json:"event"`
}

type head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

func entryKey(seq int64) string { return fmt.Sprintf("log/%012d", seq) }

// appendToLog adds entries to a commit; each one's hash covers the one before it (STO-31, STO-32).
func (wh *Webhook) appendToLog(source string, events ...Object) []Op {
	var last head
	wh.journal.Get("head", &last)
	ops := make([]Op, 0, len(events)+1)
	for _, event := range events {
		body, _ := json.Marshal(event)
		last.Seq++
		last.Hash = fmt.Sprintf("%x", sha256.Sum256([]byte(last.Hash+strconv.FormatInt(last.Seq, 10)+source+string(body))))
		ops = append(ops, Put(entryKey(last.Seq), Entry{last.Seq, source, last.Hash, body}))
	}
	return append(ops, Put("head", last))
}

// used is an entry of our own: a record was used, changed or removed (STO-35).
func (wh *Webhook) used(eventType, serviceName, sub string, refusal *Refusal) []Op {
	if refusal != nil {
		return wh.logged("denied", eventType, serviceName, sub, Object{"code": refusal.Code})
	}
	return wh.logged("success", eventType, serviceName, sub, nil)
}

func (wh *Webhook) logged(outcome, eventType, serviceName, sub string, detail Object) []Op {
	event := Object{
		"id": "evt_" + randomToken(16), "eventType": eventType, "timestamp": formatTime(time.Now()), "outcome": outcome,
	}
	if serviceName != "" {
		event["serviceName"] = serviceName
	}
	if detail != nil {
		event["detail"] = detail
	}
	if member := map[string]string{"agt": "agentId", "prx": "proxyId", "usr": "userId"}[firstPart(sub)]; member != "" {
		event[member] = sub
	}
	return wh.appendToLog("webhook", event)
}

func firstPart(id string) string {
	if len(id) < 3 {
		return ""
	}
	return id[:3]
}

const (
	maxEvents     = 500
	maxEventBytes = 8 << 10
)

func (wh *Webhook) auditAppend(operation Object) (any, *Refusal) {
	list, ok := operation["events"].([]any)
	if !ok || len(list) > maxEvents {
		return nil, refuse("INVALID_REQUEST")
	}
	var fresh []Object
	var ops []Op
	known := map[string]bool{}
	for _, each := range list {
		event, ok := each.(Object)
		body, _ := json.Marshal(event)
		if !ok || !isEvent(event) || len(body) > maxEventBytes {
			return nil, refuse("INVALID_REQUEST")
		}
		id, _ := text(event, "id")
		var seen bool
		if known[id] || wh.journal.Get("event/"+id, &seen) {
			continue // STO-27
		}
		known[id] = true
		fresh, ops = append(fresh, event), append(ops, Put("event/"+id, true))
	}
	if len(fresh) > 0 {
		if wh.journal.Commit(append(ops, wh.appendToLog("service", fresh...)...)...) != nil {
			return nil, refuse("INTERNAL")
		}
	}
	return Object{"accepted": len(list)}, nil
}

func isEvent(event Object) bool {
	for _, name := range []string{"id", "eventType", "timestamp", "outcome"} {
		if value, ok := text(event, name); !ok || value == "" {
			return false
		}
	}
	for _, name := range []string{"id", "agentId", "proxyId", "userId"} { // STO-44
		if value, isThere := event[name]; isThere && value != nil {
			if id, ok := value.(string); !ok || !idShape.MatchString(id) {
				return false
			}
		}
	}
	if detail, isThere := event["detail"]; isThere && detail != nil {
		if _, ok := detail.(Object); !ok {
			return false // STO-43
		}
	}
	timestamp, _ := text(event, "timestamp")
	_, ok := parseTime(timestamp)
	return ok
}

// auditList lists the latest entries first.
func (wh *Webhook) auditList(operation Object) (any, *Refusal) {
	limit, refusal := limitOf(operation, 100)
	if refusal != nil {
		return nil, refusal
	}
	var last head
	var epoch string
	wh.journal.Get("head", &last)
	wh.journal.Get("epoch", &epoch)
	before := last.Seq + 1
	if cursor, ok := text(operation, "cursor"); ok {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return nil, refuse("INVALID_REQUEST")
		}
	}
	items, next := []Object{}, ""
	for seq := min(before, last.Seq+1) - 1; seq > 0; seq-- {
		var entry Entry
		wh.journal.Get(entryKey(seq), &entry)
		item := entry.item()
		if !fits(item, operation, "agentId") || !fits(item, operation, "serviceName") {
			continue
		}
		if len(items) == limit {
			next = strconv.FormatInt(seq+1, 10)
			break
		}
		items = append(items, item)
	}
	answer := Object{"items": items, "head": Object{"epoch": epoch, "seq": last.Seq, "hash": last.Hash}}
	if next != "" {
		answer["nextCursor"] = next
	}
	return answer, nil
}

func (e Entry) item() Object {
	item := Object{}
	json.Unmarshal(e.Event, &item)
	item["seq"], item["source"], item["hash"] = e.Seq, e.Source, e.Hash // STO-30: never what an event says itself
	return item
}

func fits(item, operation Object, name string) bool {
	asked, ok := text(operation, name)
	return !ok || item[name] == asked
}
