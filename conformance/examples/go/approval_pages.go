package main

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// pages are those of approvals; nil where there is none.
func (wh *Webhook) pages(path string) map[string]handler {
	switch path {
	case "/approvals.js":
		return map[string]handler{"GET": pageScript}
	case "/approvers/new":
		return map[string]handler{"GET": enrolmentPage}
	case "/approvers/new/options":
		return map[string]handler{"POST": wh.posted(wh.enrolmentOptions)}
	case "/approvers/new/decision":
		return map[string]handler{"POST": wh.posted(wh.enrol)}
	}
	rest, isApproval := strings.CutPrefix(path, "/approvals/")
	id, _, _ := strings.Cut(rest, "/")
	if !isApproval || !approvalID.MatchString(id) {
		return nil
	}
	switch rest[len(id):] {
	case "":
		return map[string]handler{"GET": wh.approvalPage(id)}
	case "/options":
		return map[string]handler{"POST": wh.decisionOptions(id)}
	case "/decision":
		return map[string]handler{"POST": wh.decide(id)}
	}
	return nil
}

// The pages hold nothing of anybody's but text: the template escapes it, and the policy lets no other script run (APR-40).
var approvalPages = template.Must(template.New("").Parse(`{{define "head"}}<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{{.}}</title><h1>{{.}}</h1>{{end}}
{{define "foot"}}<p id="outcome" role="status"></p><script src="../approvals.js"></script>{{end}}
{{define "approval"}}{{template "head" .Title}}<dl>
{{range .Rows}}<dt>{{index . 0}}</dt><dd><pre><bdi>{{index . 1}}</bdi></pre></dd>
{{end}}</dl>
{{range .Buttons}}<button data-decision="{{.Decision}}" data-scope="{{.Scope}}">{{.Label}}</button>
{{end}}{{template "foot"}}{{end}}
{{define "enrolment"}}{{template "head" "Become an approver"}}
<p>A person approves each use of some credentials, at this webhook, with a passkey. This link works once, for 15 minutes.</p>
<label>Your name, for the log <input maxlength="100" autocomplete="name"></label> <button data-enrols="yes">Register a passkey</button>
{{template "foot"}}{{end}}`))

const script = `const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const post = async (path, body) => {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(location.pathname + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.code);
  return said;
};
const act = async ({ enrols, decision, scope }) => {
  const code = new URLSearchParams(location.search).get('code');
  const asked = enrols ? { code, name: document.querySelector('input').value } : { decision, scope };
  const { publicKey } = await post('/options', asked);
  publicKey.challenge = bytes(publicKey.challenge);
  if (enrols) publicKey.user.id = bytes(publicKey.user.id);
  const { id, type, response: said } = await navigator.credentials[enrols ? 'create' : 'get']({ publicKey });
  const response = {};
  for (const name of ['clientDataJSON', 'authenticatorData', 'signature', 'attestationObject'])
    if (said[name]) response[name] = text(said[name]);
  await post('/decision', { ...asked, response: { id, rawId: id, type, clientExtensionResults: {}, response } });
};
for (const button of document.querySelectorAll('button'))
  button.addEventListener('click', async () => {
    const outcome = document.getElementById('outcome');
    outcome.textContent = 'Use your passkey.';
    try {
      await act(button.dataset);
      for (const each of document.querySelectorAll('button')) each.remove();
      outcome.textContent = 'Done. You can close this page.';
    } catch (error) {
      outcome.textContent = 'Nothing changed: ' + error.message;
    }
  });
`

func pageScript(w http.ResponseWriter, _ *http.Request, _ content) *Refusal {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write([]byte(script))
	return nil
}

func enrolmentPage(w http.ResponseWriter, _ *http.Request, _ content) *Refusal {
	showApprovalPage(w, "enrolment", nil)
	return nil
}

func showApprovalPage(w http.ResponseWriter, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer") // The address of a link has its code.
	w.Header().Set("Cache-Control", "no-store")
	approvalPages.ExecuteTemplate(w, name, data)
}

type button struct{ Decision, Scope, Label string }

type approvalPageData struct {
	Title   string
	Rows    [][2]string
	Buttons []button
}

func (wh *Webhook) approvalPage(id string) handler {
	return func(w http.ResponseWriter, _ *http.Request, _ content) *Refusal {
		data := wh.approvalPageData(id)
		if data == nil {
			return refuse("NOT_FOUND")
		}
		showApprovalPage(w, "approval", data)
		return nil
	}
}

func (wh *Webhook) approvalPageData(id string) *approvalPageData {
	wh.mu.Lock()
	defer wh.mu.Unlock()
	approval := wh.approval(id)
	if approval == nil {
		return nil
	}
	var beside shown
	wh.journal.Get("shown/"+id, &beside)
	now := time.Now()
	return &approvalPageData{"Request for an approval: " + approval.status(now), wh.rowsOf(approval, beside, now), wh.buttonsOf(approval, now)}
}

func (wh *Webhook) buttonsOf(approval *Approval, now time.Time) []button {
	switch approval.status(now) {
	case "approved":
		return []button{{"revoke", "once", "Revoke"}}
	case "pending":
		buttons := []button{{"approve", "once", "Approve once"}, {"deny", "once", "Deny"}}
		if most := wh.longestAllowance(approval); most > 0 {
			seconds := strconv.FormatInt(most, 10)
			buttons = append(buttons, button{"approve", "standing:" + seconds, "Allow for " + seconds + " seconds: " + whatStands(approval.Operation)})
		}
		return buttons
	}
	return nil
}

// whatStands says what an allowance covers (APR-31).
func whatStands(operation Operation) string {
	switch {
	case operation.Type == "credential":
		return "every delivery to this caller"
	case operation.MCP == "tools/call":
		return "every call of this tool by this caller, with any arguments"
	case operation.MCP != "":
		return "every message of this method of MCP by this caller, with any parameters"
	}
	return "every request with this method and path by this caller, with any query, fields and body"
}

// rowsOf is APR-38. What is signed comes first, so that nobody's words move it out of sight.
func (wh *Webhook) rowsOf(approval *Approval, beside shown, now time.Time) [][2]string {
	operation := approval.Operation
	rows := [][2]string{{"Credential", approval.Service}, {"Caller", approval.Sub}}
	if operation.Type == "credential" {
		rows = append(rows, [2]string{"Use", "The secret itself. Whoever gets it can keep it and use it for anything."})
	} else {
		rows = append(rows, rowsOfCall(operation, beside)...)
	}
	if beside.Name != "" {
		rows = append(rows, [2]string{"Name of the caller, says the service, and nobody checked it", visible(beside.Name)})
	}
	if beside.Reason != "" {
		rows = append(rows, [2]string{"Reason, in the caller’s own words, which nobody checked", beside.Reason})
	}
	rows = append(rows, [2]string{"In the last 24 hours", wh.historyOf(approval.Sub, now)}, [2]string{"Ends at", formatTime(approval.ExpiresAt)})
	for at := range rows {
		rows[at][1] = visibleLines(rows[at][1])
	}
	return rows
}

func rowsOfCall(operation Operation, beside shown) [][2]string {
	scheme, rest, _ := strings.Cut(operation.URL, "://")
	host, target, _ := strings.Cut(rest, "/")
	path, query, _ := strings.Cut("/"+target, "?")
	if scheme != "https" {
		host += " (by plain http, which others can read)"
	}
	fields := []string{}
	for _, field := range beside.Fields {
		fields = append(fields, field[0]+": "+field[1])
	}
	rows := [][2]string{{"Use", "A request by a proxy. The secret stays at the webhook."}}
	for _, row := range [][2]string{
		{"Method", operation.Method}, {"Host", host}, {"Path", path}, {"Query", query},
		{"Method of MCP", visible(operation.MCP)}, {"Tool", visible(operation.Tool)},
		{"Header fields", strings.Join(fields, "\n")}, {"Body", bodyShown(beside, operation)},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// bodyShown is the body fully, or says plainly that there is nothing but its digest.
func bodyShown(beside shown, operation Operation) string {
	fields := map[string]string{}
	for _, field := range beside.Fields {
		fields[field[0]] = field[1]
	}
	isText := utf8.Valid(beside.Body) && isUncompressed(fields)
	for _, charset := range charsetParameter.FindAllStringSubmatch(strings.ToLower(fields["content-type"]), -1) {
		isText = isText && (charset[1] == "utf-8" || charset[1] == "utf8" || charset[1] == "us-ascii")
	}
	size := int64(len(beside.Body))
	if beside.BodyBytes != nil {
		size = *beside.BodyBytes
	} else if isText {
		return string(beside.Body)
	}
	return strconv.FormatInt(size, 10) + " bytes that cannot be shown here: there is nothing but the digest of the request, " + operation.Digest
}

// historyOf is APR-42.
func (wh *Webhook) historyOf(sub string, now time.Time) string {
	asked := wh.approvals(func(each *Approval) bool { return each.Sub == sub && now.Sub(each.AskedAt) <= approvalMemory })
	outcomes := map[string]int{}
	for _, each := range asked {
		outcomes[each.Decision]++
	}
	return "This caller asked " + strconv.Itoa(len(asked)) + " times: " + strconv.Itoa(outcomes["approve"]) + " approved, " +
		strconv.Itoa(outcomes["deny"]) + " denied, " + strconv.Itoa(outcomes["revoke"]) + " revoked"
}

// visible writes what a reader would not see, line ends, and what turns the direction of text by its code point (APR-39).
func visible(text string) string {
	out := make([]rune, 0, len(text))
	for _, each := range text {
		if unicode.IsPrint(each) && !unicode.In(each, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			out = append(out, each)
		} else {
			out = append(out, []rune(`\u{`+strconv.FormatInt(int64(each), 16)+"}")...)
		}
	}
	return string(out)
}

// visibleLines leaves line ends as they are.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for at := range lines {
		lines[at] = visible(lines[at])
	}
	return strings.Join(lines, "\n")
}
