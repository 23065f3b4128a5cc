package main

import (
	"crypto/sha256"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

var scopeShape = regexp.MustCompile(`^(?:once|standing:([1-9][0-9]{0,5}))$`)

// decision is what somebody posts from the page of a request, or from a program.
type decision struct {
	kind, scope string
	standing    int64 // Seconds of an allowance.
	approval    *Approval
}

func (d decision) challenge() []byte {
	sum := sha256.Sum256([]byte(d.approval.Text + "\n" + d.kind + "\n" + d.scope))
	return sum[:]
}

// posted reads JSON that a page of this webhook, or a program, posts (APR-41). next is called under the lock.
func (wh *Webhook) posted(next func(Object) (Object, *Refusal)) handler {
	return func(w http.ResponseWriter, r *http.Request, read content) *Refusal {
		if origins := r.Header.Values("Origin"); len(origins) > 0 && (len(origins) > 1 || origins[0] != wh.origin()) {
			return refuse("ORIGIN_NOT_ALLOWED")
		}
		body, refusal := read()
		if refusal != nil {
			return refusal
		}
		object, refusal := jsonBody(r, body)
		if refusal != nil {
			return refusal
		}
		answer, refusal := func() (Object, *Refusal) {
			wh.mu.Lock()
			defer wh.mu.Unlock()
			return next(object)
		}()
		if refusal == nil {
			writeJSON(w, 200, answer)
		}
		return refusal
	}
}

// readDecision is APR-24, APR-25 and APR-43.
func (wh *Webhook) readDecision(id string, body Object, now time.Time) (*decision, *Refusal) {
	asked := decision{}
	asked.kind, _ = text(body, "decision")
	asked.scope, _ = text(body, "scope")
	scope := scopeShape.FindStringSubmatch(asked.scope)
	needed, known := map[string]string{"approve": "pending", "deny": "pending", "revoke": "approved"}[asked.kind]
	if scope == nil || !known {
		return nil, refuse("INVALID_REQUEST")
	}
	if asked.approval = wh.approval(id); asked.approval == nil {
		return nil, refuse("NOT_FOUND")
	}
	if asked.approval.status(now) != needed {
		return nil, refuse("VERSION_CONFLICT")
	}
	asked.standing, _ = strconv.ParseInt(scope[1], 10, 64)
	if scope[1] != "" && (asked.kind != "approve" || asked.standing < leastStanding || asked.standing > wh.longestAllowance(asked.approval)) {
		return nil, refuse("INVALID_REQUEST")
	}
	return &asked, nil
}

// longestAllowance is in seconds, and 0 where none can be given.
func (wh *Webhook) longestAllowance(approval *Approval) int64 {
	record := wh.record(approval.Service)
	if record == nil || record.Approval == nil || !approval.MayStand {
		return 0
	}
	return record.Approval.StandingSeconds
}

func (wh *Webhook) decisionOptions(id string) handler {
	return wh.posted(func(body Object) (Object, *Refusal) {
		asked, refusal := wh.readDecision(id, body, time.Now())
		if refusal != nil {
			return nil, refusal
		}
		var beside shown
		wh.journal.Get("shown/"+id, &beside)
		return Object{"text": asked.approval.Text, "shown": beside, "publicKey": Object{
			"challenge": base64url(asked.challenge()), "rpId": wh.relyingParty(), "userVerification": "required",
		}}, nil
	})
}

func (wh *Webhook) decide(id string) handler {
	return wh.posted(func(body Object) (Object, *Refusal) {
		now := time.Now()
		asked, refusal := wh.readDecision(id, body, now)
		if refusal != nil {
			return nil, refusal
		}
		answer, _ := body["response"].(Object)
		approver := wh.signerOf(answer, asked.challenge())
		if approver == nil {
			return nil, refuse("SIGNATURE_INVALID")
		}
		approval := asked.approval
		approval.Decision, approval.Approver = asked.kind, approver.ID
		switch asked.kind {
		case "approve":
			approval.Status, approval.Standing, approval.ExpiresAt = "approved", asked.standing, now.Add(approvalLife)
			if asked.standing > 0 {
				approval.ExpiresAt = now.Add(time.Duration(asked.standing) * time.Second)
			}
		case "deny":
			approval.Status, approval.ExpiresAt = "denied", now.Add(denialLife)
		case "revoke":
			approval.Status, approval.ExpiresAt = "expired", now
		}
		// With this and the approver's public key anybody can check what was decided (APR-26).
		signed := answer["response"].(Object)
		entry := wh.logged("success", "APPROVAL_DECIDED", approval.Service, approval.Sub, Object{
			"approval": id, "text": approval.Text, "decision": asked.kind, "scope": asked.scope, "approver": approver.ID,
			"authenticatorData": signed["authenticatorData"], "clientDataJSON": signed["clientDataJSON"], "signature": signed["signature"],
		})
		if wh.journal.Commit(append(entry, approval.save())...) != nil {
			return nil, refuse("INTERNAL")
		}
		return Object{}, nil
	})
}

func (wh *Webhook) approvers() []*Approver {
	var approvers []*Approver
	for _, id := range wh.journal.Keys("approver/") {
		approver := &Approver{}
		wh.journal.Get("approver/"+id, approver)
		approvers = append(approvers, approver)
	}
	return approvers
}

func linkKey(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "link/" + base64url(sum[:])
}

// enrolmentChallenge may follow from the code, which is random and works once.
func enrolmentChallenge(code string) []byte {
	sum := sha256.Sum256([]byte("approver\n" + code))
	return sum[:]
}

// readEnrolment is APR-37: only who has a link gets further.
func (wh *Webhook) readEnrolment(body Object) (code, name string, refusal *Refusal) {
	code, isCode := text(body, "code")
	name, isName := optionalText(body, "name", maxName)
	if !isCode || !isName || name == "" || visible(name) != name {
		return "", "", refuse("INVALID_REQUEST")
	}
	var until int64
	if !wh.journal.Get(linkKey(code), &until) || time.Now().Unix() >= until {
		return "", "", refuse("NOT_FOUND")
	}
	return code, name, nil
}

func (wh *Webhook) enrolmentOptions(body Object) (Object, *Refusal) {
	code, name, refusal := wh.readEnrolment(body)
	if refusal != nil {
		return nil, refusal
	}
	return Object{"publicKey": Object{
		"challenge": base64url(enrolmentChallenge(code)), "rp": Object{"id": wh.relyingParty(), "name": "svault webhook"},
		"user":             Object{"id": base64url(randomBytes(32)), "name": name, "displayName": name},
		"pubKeyCredParams": []Object{{"type": "public-key", "alg": -7}}, "attestation": "none",
		"authenticatorSelection": Object{"residentKey": "required", "requireResidentKey": true, "userVerification": "required"},
	}}, nil
}

func (wh *Webhook) enrol(body Object) (Object, *Refusal) {
	code, name, refusal := wh.readEnrolment(body)
	if refusal != nil {
		return nil, refusal
	}
	answer, _ := body["response"].(Object)
	approver := wh.newPasskey(answer, enrolmentChallenge(code))
	if approver == nil {
		return nil, refuse("INVALID_REQUEST")
	}
	approver.Name = name
	entry := wh.logged("success", "APPROVER_ADDED", "", "", Object{
		"approver": approver.ID, "name": name, "credentialId": approver.CredentialID, "publicKey": base64url(approver.PublicKey),
	})
	if wh.journal.Commit(append(entry, Put("approver/"+approver.ID, approver), Remove(linkKey(code)))...) != nil {
		return nil, refuse("INTERNAL")
	}
	return Object{"approver": approver.ID}, nil
}
