package main

import (
	"slices"
	"time"
)

// ApprovalSetting is sealed with a record (section 5.10): which of its uses a person decides on.
type ApprovalSetting struct {
	By              string   `json:"by"`
	For             []string `json:"for"`
	StandingSeconds int64    `json:"standingSeconds,omitempty"`
}

const (
	leastStanding  = 60
	mostStanding   = 28800
	approvalLife   = 15 * time.Minute
	denialLife     = 10 * time.Minute
	approvalMemory = 24 * time.Hour
)

// readApprovalSetting is APR-02.
func readApprovalSetting(value any) (*ApprovalSetting, bool) {
	object, ok := value.(Object)
	for name := range object {
		ok = ok && (name == "by" || name == "for" || name == "standingSeconds")
	}
	operations, areTexts := listOf(object["for"], 2, func(each string) bool { return each == "credential" || each == "proxy" })
	standing, isInteger := optionalInteger(object, "standingSeconds")
	setting := &ApprovalSetting{By: "passkey", For: operations}
	if standing != nil {
		setting.StandingSeconds = *standing
		isInteger = isInteger && *standing >= leastStanding && *standing <= mostStanding
	}
	isTwice := len(operations) == 2 && operations[0] == operations[1]
	return setting, ok && object["by"] == "passkey" && areTexts && !isTwice && isInteger
}

func (r Record) needsApproval(operation string) bool {
	return r.Approval != nil && slices.Contains(r.Approval.For, operation)
}

// use is what a person decides on. An allowance covers none that may not stand (APR-25).
type use struct {
	Service   string    `json:"service"`
	Sub       string    `json:"sub"`
	Operation Operation `json:"operation"`
	MayStand  bool      `json:"mayStand"`
}

// Approval is a request for one, and what became of it.
type Approval struct {
	use
	ID        string    `json:"id"`
	Text      string    `json:"text"` // What is signed.
	Status    string    `json:"status"`
	AskedAt   time.Time `json:"askedAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	Standing  int64     `json:"standing,omitempty"` // Seconds of an allowance.
	Decision  string    `json:"decision,omitempty"`
	Approver  string    `json:"approver,omitempty"`
}

// shown is what the page shows beside what is signed. It is kept apart, since every use looks through the approvals.
type shown struct {
	Name      string      `json:"name,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	Fields    [][2]string `json:"fields,omitempty"`
	Body      []byte      `json:"body,omitempty"` // Exactly as it is digested.
	BodyBytes *int64      `json:"bodyBytes,omitempty"`
}

func (a *Approval) save() Op { return Put("approval/"+a.ID, a) }

func (a *Approval) status(now time.Time) string {
	if (a.Status == "pending" || a.Status == "approved") && !now.Before(a.ExpiresAt) {
		return "expired"
	}
	return a.Status
}

func (a *Approval) state(now time.Time) Object {
	return Object{"id": a.ID, "status": a.status(now), "expiresAt": formatTime(a.ExpiresAt)}
}

// covers is APR-30, and of an allowance APR-31.
func (a *Approval) covers(other use) bool {
	isSame := a.Service == other.Service && a.Sub == other.Sub
	if a.Standing == 0 {
		return isSame && a.Operation.once() == other.Operation.once()
	}
	return isSame && a.MayStand && other.MayStand && a.Operation.standing() == other.Operation.standing()
}

// useUp leaves an allowance as it is. A use that needed no approval has none.
func (a *Approval) useUp() []Op {
	if a == nil || a.Standing != 0 {
		return nil
	}
	a.Status = "used"
	return []Op{a.save()}
}

func (wh *Webhook) approval(id string) *Approval {
	approval := &Approval{}
	if !wh.journal.Get("approval/"+id, approval) {
		return nil
	}
	return approval
}

// approvals are those that fit, in any order.
func (wh *Webhook) approvals(fit func(*Approval) bool) []*Approval {
	var found []*Approval
	for _, id := range wh.journal.Keys("approval/") {
		if approval := wh.approval(id); fit(approval) {
			found = append(found, approval)
		}
	}
	return found
}

// approvalOf finds the approval of a use, which may need none (APR-03).
func (wh *Webhook) approvalOf(record *Record, wanted use) (*Approval, *Refusal) {
	if !record.needsApproval(wanted.Operation.Type) {
		return nil, nil
	}
	now := time.Now()
	found := wh.approvals(func(each *Approval) bool { return each.status(now) == "approved" && each.covers(wanted) })
	if len(found) == 0 {
		return nil, refuse("APPROVAL_REQUIRED")
	}
	return found[0], nil
}

func (wh *Webhook) approvalOfCall(call *prepared) (*Approval, *Refusal) {
	if !call.record.needsApproval("proxy") {
		return nil, nil
	}
	described, refusal := call.describe()
	if described == nil {
		return nil, refusal
	}
	return wh.approvalOf(call.record, described.use)
}

func ofRecord(name string) func(*Approval) bool {
	return func(each *Approval) bool { return each.Service == name }
}

// voidApprovals ends what was not used (APR-34, APR-35).
func (wh *Webhook) voidApprovals(fit func(*Approval) bool) []Op {
	now := time.Now()
	var ops []Op
	for _, each := range wh.approvals(fit) {
		if status := each.status(now); status == "pending" || status == "approved" {
			each.Status, each.ExpiresAt = "expired", now
			ops = append(ops, each.save())
		}
	}
	return ops
}

func (wh *Webhook) forgetApprovals(now time.Time) []Op {
	var ops []Op
	for _, each := range wh.approvals(func(each *Approval) bool { return now.Sub(each.AskedAt) > approvalMemory }) {
		ops = append(ops, Remove("approval/"+each.ID), Remove("shown/"+each.ID))
	}
	return ops
}
