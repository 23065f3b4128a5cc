package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Ticket is what section 4 says of one, for one operation.
type Ticket struct {
	Sub, Svc, Jti   string
	Rfp, Jkt        string
	Htm, Prx        string
	IfVersion       *int64
	hasConfirmation bool
}

var (
	part64      = base64.RawURLEncoding.Strict()
	subShape    = regexp.MustCompile(`^(agt|prx|usr)_.+$`)
	ticketShape = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
)

// admitTicket verifies a ticket. Whatever is wrong, the answer is one. Whoever asks holds the lock and, except for a
// proxy's, commits what uses the ticket up (TIX-33).
func (wh *Webhook) admitTicket(compact, op string) (*Ticket, []Op, *Refusal) {
	now := time.Now()
	ticket, expires := wh.readTicket(compact, op, now)
	if ticket == nil {
		return nil, nil, refuse("TICKET_INVALID")
	}
	if op == "proxy" {
		return ticket, nil, nil
	}
	var until int64
	if wh.journal.Get("ticket/"+ticket.Jti, &until) {
		return nil, nil, refuse("TICKET_INVALID")
	}
	return ticket, append(wh.forgetOld(now), Put("ticket/"+ticket.Jti, expires+31)), nil
}

func (wh *Webhook) readTicket(compact, op string, now time.Time) (*Ticket, int64) {
	if len(compact) > 4096 || !ticketShape.MatchString(compact) {
		return nil, 0
	}
	parts := strings.Split(compact, ".")
	header, claims := decodePart(parts[0]), decodePart(parts[1])
	mac, err := part64.DecodeString(parts[2])
	if header == nil || claims == nil || err != nil || len(header) != 3 || header["alg"] != "HS256" || header["typ"] != "sv-ticket+jwt" {
		return nil, 0
	}
	kid, _ := text(header, "kid")
	key := wh.ticketKey(kid, now)
	if key == nil {
		return nil, 0
	}
	expected := hmac.New(sha256.New, key.Secret)
	expected.Write([]byte(parts[0] + "." + parts[1]))
	if !hmac.Equal(expected.Sum(nil), mac) {
		return nil, 0
	}
	return wh.readClaims(claims, op, now)
}

func (wh *Webhook) readClaims(claims Object, op string, now time.Time) (*Ticket, int64) {
	issued, hasIssued := integer(claims, "iat")
	expires, hasExpires := integer(claims, "exp")
	longest := map[string]int64{"credential": 60, "proxy": 60, "store": 300}[op]
	life := expires - issued
	ticket := &Ticket{}
	var has [3]bool
	ticket.Sub, has[0] = text(claims, "sub")
	ticket.Svc, has[1] = text(claims, "svc")
	ticket.Jti, has[2] = text(claims, "jti")
	right := hasIssued && hasExpires && life > 0 && life <= longest &&
		!time.Unix(issued, 0).After(now.Add(skew)) && !now.After(time.Unix(expires, 0).Add(skew)) &&
		claims["iss"] == wh.binding().ServiceURL && claims["aud"] == wh.webhookID && claims["op"] == op &&
		has[0] && has[1] && has[2] && subShape.MatchString(ticket.Sub) && isServiceName(ticket.Svc) && nonceShape.MatchString(ticket.Jti)
	if !right || !ticket.readOwnClaims(claims, op) {
		return nil, 0
	}
	return ticket, expires
}

// readOwnClaims reads what only one operation has (TIX-19 to TIX-25).
func (t *Ticket) readOwnClaims(claims Object, op string) bool {
	var ok bool
	switch op {
	case "credential":
		t.Rfp, ok = text(claims, "rfp")
		grant, hasGrant := text(claims, "gnt")
		if confirmation, given := claims["cnf"]; given {
			members, isObject := confirmation.(Object)
			t.Jkt, t.hasConfirmation = text(members, "jkt")
			ok = ok && isObject && t.hasConfirmation
		}
		return ok && (t.Rfp == "none" || t.Rfp == "auto") && (hasGrant && grant != "" || claims["gnt"] == nil && strings.HasPrefix(t.Sub, "usr_"))
	case "store":
		t.IfVersion, ok = optionalInteger(claims, "ifv")
		return ok && (t.IfVersion == nil || *t.IfVersion >= 0)
	default:
		t.Htm, _ = text(claims, "htm")
		t.Prx, ok = text(claims, "prx")
		return ok && t.Prx != "" && isHTTPMethod(t.Htm)
	}
}

// decodePart is nil for what is no base64url, unused bits included (TIX-02), or no JSON object.
func decodePart(part string) Object {
	bytes, err := part64.DecodeString(part)
	if err != nil {
		return nil
	}
	object, err := parseObject(bytes)
	if err != nil {
		return nil
	}
	return object
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
