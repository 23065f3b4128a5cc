package main

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxName       = 100
	maxReason     = 500
	maxShownBody  = 16 << 10
	maxFields     = 100
	maxFieldBytes = 16 << 10
	mostOfSub     = 20
	mostOfRecord  = 100
	mostPending   = 1000
	mostListed    = 100
)

var (
	approvalID      = regexp.MustCompile(`^apr_[A-Za-z0-9_-]{22}$`)
	bodyDigestShape = regexp.MustCompile(`^sha-256=:[A-Za-z0-9+/]{43}=:$`)
)

// asking is what the service asks an approval of (APR-08).
type asking struct {
	operation string
	call      wanted // With `sub` and `service` for a delivery too.
	shown     shown
}

func readAsking(body Object) (*asking, bool) {
	var has [7]bool
	asking := &asking{}
	call := &asking.call
	call.service, has[0] = text(body, "serviceName")
	call.sub, has[1] = text(body, "sub")
	asking.shown.Name, has[2] = optionalText(body, "name", maxName)
	asking.shown.Reason, has[3] = optionalText(body, "reason", maxReason)
	operation, _ := body["operation"].(Object)
	asking.operation, _ = text(operation, "type")
	if has != [7]bool{true, true, true, true} || !isServiceName(call.service) || !subShape.MatchString(call.sub) || !idShape.MatchString(call.sub) {
		return nil, false
	}
	if asking.operation != "proxy" {
		return asking, asking.operation == "credential"
	}
	call.proxyID, has[4] = text(operation, "proxyId")
	call.method, has[5] = text(operation, "method")
	if operation["target"] != nil {
		target, isText := text(operation, "target")
		call.target, has[6] = []string{target}, isText
	} else {
		has[6] = true
	}
	isCall := has[4] && has[5] && has[6] && idShape.MatchString(call.proxyID) && isHTTPMethod(call.method)
	return asking, isCall && call.readFields(operation) && asking.readBody(operation)
}

func optionalText(object Object, name string, most int) (string, bool) {
	if object[name] == nil {
		return "", true
	}
	value, ok := text(object, name)
	return value, ok && utf8.RuneCountInString(value) <= most
}

func (w *wanted) readFields(operation Object) bool {
	list, ok := operation["fields"].([]any)
	if operation["fields"] != nil && !ok || len(list) > maxFields {
		return false
	}
	w.header = http.Header{}
	size := 0
	for _, each := range list {
		pair, ok := texts(Object{"": each}, "")
		if !ok || len(pair) != 2 || !tokenShape.MatchString(pair[0]) || !isFieldValue(pair[1]) {
			return false
		}
		size += len(pair[0]) + len(pair[1])
		w.header.Add(pair[0], pair[1])
		w.covered = append(w.covered, strings.ToLower(pair[0]))
	}
	return size <= maxFieldBytes
}

func (a *asking) readBody(operation Object) bool {
	encoded, isText := text(operation, "body")
	body, err := base64.StdEncoding.Strict().DecodeString(encoded)
	digest, hasDigest := text(operation, "bodyDigest")
	size, isSize := optionalInteger(operation, "bodyBytes")
	if hasDigest {
		a.call.bodyDigest, a.shown.BodyBytes = digest, size
		return operation["body"] == nil && bodyDigestShape.MatchString(digest) && size != nil && isSize && *size >= 0
	}
	a.call.body = body
	return (isText || operation["body"] == nil) && err == nil && len(body) <= maxShownBody && operation["bodyDigest"] == nil && size == nil
}

// askApproval puts a use before the approvers. The same use again is the same request (APR-10).
func (wh *Webhook) askApproval(body Object) (any, *Refusal) {
	asking, ok := readAsking(body)
	if !ok {
		return nil, refuse("INVALID_REQUEST")
	}
	wh.mu.Lock()
	defer wh.mu.Unlock()
	record := wh.record(asking.call.service)
	if record == nil {
		return nil, refuse("NOT_FOUND")
	}
	if !record.needsApproval(asking.operation) {
		return Object{"status": "not_required"}, nil
	}
	described, refusal := wh.describeAsked(record, asking)
	if refusal != nil {
		return nil, refusal
	}
	if described == nil {
		return Object{"status": "not_required"}, nil
	}
	now := time.Now()
	same := wh.approvals(func(each *Approval) bool {
		isOpen := each.Status == "pending" || each.Status == "approved" || each.Status == "denied"
		return isOpen && now.Before(each.ExpiresAt) && each.covers(described.use)
	})
	if len(same) > 0 {
		return wh.answerOf(same[0], now), nil
	}
	if !wh.hasRoom(described.use, now) {
		return nil, &Refusal{Code: "RATE_LIMITED", RetryAfter: 60}
	}
	approval := &Approval{use: described.use, ID: "apr_" + randomToken(16), Status: "pending", AskedAt: now, ExpiresAt: now.Add(approvalLife)}
	approval.Text = approval.signedText(wh.webhookID)
	asking.shown.Fields, asking.shown.Body = described.fields, described.body
	if wh.journal.Commit(approval.save(), Put("shown/"+approval.ID, asking.shown)) != nil {
		return nil, refuse("INTERNAL")
	}
	return wh.answerOf(approval, now), nil
}

// describeAsked refuses what the use would be refused for (APR-06).
func (wh *Webhook) describeAsked(record *Record, asking *asking) (*described, *Refusal) {
	if asking.operation == "proxy" {
		call, refusal := wh.plan(asking.call)
		if refusal != nil {
			return nil, refusal
		}
		return call.describe()
	}
	if record.Delivery == "proxy-only" {
		return nil, refuse("DELIVERY_NOT_ALLOWED")
	}
	return &described{use: use{asking.call.service, asking.call.sub, delivery, true}}, nil
}

func (wh *Webhook) answerOf(approval *Approval, now time.Time) Object {
	answer := approval.state(now)
	answer["askedAt"], answer["url"] = formatTime(approval.AskedAt), wh.publicURL+"/approvals/"+approval.ID
	return answer
}

// hasRoom is APR-11.
func (wh *Webhook) hasRoom(wanted use, now time.Time) bool {
	pending := wh.approvals(func(each *Approval) bool { return each.status(now) == "pending" })
	ofSub, ofRecord := 0, 0
	for _, each := range pending {
		if each.Sub == wanted.Sub {
			ofSub++
		}
		if each.Service == wanted.Service {
			ofRecord++
		}
	}
	return len(pending) < mostPending && ofSub < mostOfSub && ofRecord < mostOfRecord
}

// listApprovals leaves out what it does not know (APR-13).
func (wh *Webhook) listApprovals(body Object) (any, *Refusal) {
	ids, ok := listOf(body["ids"], mostListed, approvalID.MatchString)
	if !ok {
		return nil, refuse("INVALID_REQUEST")
	}
	wh.mu.Lock()
	defer wh.mu.Unlock()
	now, items := time.Now(), []Object{}
	for _, id := range ids {
		if approval := wh.approval(id); approval != nil {
			items = append(items, approval.state(now))
		}
	}
	return Object{"items": items}, nil
}
