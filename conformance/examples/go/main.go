// Command svault-webhook is an example of a webhook, written from the protocol's page with Go's standard library alone.
// It claims storage, credential, store, proxy, sealed-delivery, request-rules, http-proxy and approvals; it takes no refresh
// settings and mints nothing.
//
//	svault-webhook serve               runs it
//	svault-webhook bind-link           prints the link that a service is connected by
//	svault-webhook approver-link       prints a link by which a person enrols a passkey, once and within 15 minutes
//	svault-webhook approvers           lists who has one
//	svault-webhook remove-approver ID  removes one, and what they approved
//
// The others ask the one that runs, found by the same --data and --listen.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Webhook is the whole of it. mu guards the journal: whoever claims, reads or writes holds it, and nobody calls out
// while they do.
type Webhook struct {
	mu          sync.Mutex
	journal     *Journal
	swept       time.Time
	publicURL   string
	serviceURL  string
	authority   string
	pathPrefix  string
	webhookID   string
	setupToken  string
	wrongTokens limiter
	wrongCodes  limiter
	allowed     []netip.Prefix
	offer       *offer
}

func main() {
	flags := flag.NewFlagSet("svault-webhook", flag.ExitOnError)
	listen := flags.String("listen", "127.0.0.1:8090", "address to listen on")
	public := flags.String("url", "", "public address of this webhook, without a slash at the end")
	service := flags.String("service-url", "", "the one service that it may be bound to")
	folder := flags.String("data", "data", "folder of its own")
	allow := flags.String("allow", "", "private networks that calls to upstreams may reach (CIDR, comma-separated); http only there")
	name := "serve"
	args := os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	flags.Parse(args)
	var err error
	switch name {
	case "serve":
		err = serve(*listen, *public, *service, *folder, *allow)
	case "bind-link":
		err = printLink(*listen, *folder)
	case "approver-link", "approvers", "remove-approver":
		err = command(*folder, strings.TrimSpace(name+" "+flags.Arg(0)))
	default:
		err = fmt.Errorf("unknown command %q: serve, bind-link, approver-link, approvers or remove-approver", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func serve(listen, public, service, folder, allow string) error {
	wh, err := newWebhook(public, service, folder, allow)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: listen, Handler: wh, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 40 << 10} // HTP-19
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-stop
		server.Close()
	}()
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if err := wh.takeCommands(folder); err != nil {
		return err
	}
	log.Printf("listening on %s for %s; calls out may reach %v", listener.Addr(), service, wh.allowed)
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

var pathShape = regexp.MustCompile(`^[A-Za-z0-9._~/-]*$`)

func newWebhook(public, service, folder, allow string) (*Webhook, error) {
	address, err := url.Parse(public)
	if err != nil || address.Host == "" || address.User != nil || strings.HasSuffix(public, "/") || !pathShape.MatchString(address.Path) {
		return nil, fmt.Errorf("--url %q is no webhook's address", public)
	}
	if base, err := url.Parse(service); err != nil || base.Host == "" || strings.HasSuffix(service, "/") {
		return nil, fmt.Errorf("--service-url %q is no base URL", service)
	}
	wh := &Webhook{publicURL: public, serviceURL: service, authority: authorityOf(address), pathPrefix: address.Path}
	for _, each := range strings.Split(allow, ",") {
		if each == "" {
			continue
		}
		network, err := netip.ParsePrefix(strings.TrimSpace(each))
		if err != nil {
			return nil, fmt.Errorf("--allow: %w", err)
		}
		wh.allowed = append(wh.allowed, network)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if wh.setupToken, err = readOrMake(filepath.Join(folder, "setup-token")); err != nil {
		return nil, err
	}
	if wh.journal, err = OpenJournal(folder); err != nil {
		return nil, err
	}
	return wh, wh.introduce()
}

// introduce gives a new webhook its id and its log an epoch.
func (wh *Webhook) introduce() error {
	if wh.journal.Get("id", &wh.webhookID) {
		return nil
	}
	wh.webhookID = "whk_" + randomToken(16)
	return wh.journal.Commit(Put("id", wh.webhookID), Put("epoch", randomToken(16)))
}

func readOrMake(path string) (string, error) {
	value, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		value = []byte(randomToken(32))
		err = os.WriteFile(path, value, 0o600)
	}
	return strings.TrimSpace(string(value)), err
}

// authorityOf is the host in lower case, with its port unless that is the scheme's default (SIG-11).
func authorityOf(address *url.URL) string {
	host := strings.ToLower(address.Host)
	if address.Scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// publicPath puts back the prefix that a proxy in front may have stripped (SIG-16).
func (wh *Webhook) publicPath(path string) string {
	if strings.HasPrefix(path, wh.pathPrefix+"/") {
		return path
	}
	return wh.pathPrefix + path
}

// bodyCap is TRN-19.
func bodyCap(path string) int64 {
	switch path {
	case "/bind":
		return 4 << 10
	case "/v1/exchange":
		return 1 << 10
	case "/v1/proxy":
		return 8 << 20
	}
	if strings.HasPrefix(path, "/v1/approvals") || strings.HasPrefix(path, "/approv") {
		return 64 << 10
	}
	return 1 << 20
}

// content reads a request's body whole, no more of it than there may be. It is asked for by whoever has looked at the head.
type content func() ([]byte, *Refusal)

type handler func(http.ResponseWriter, *http.Request, content) *Refusal

// ServeHTTP finds the endpoint, which reads the body once the head is good (SIG-57, SIG-61, TIX-44).
func (wh *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	path = strings.TrimPrefix(wh.publicPath(path), wh.pathPrefix)
	methods := wh.endpoint(path)
	if path == "/v1/proxy" {
		w.Header().Set("sv-proxy-origin", "webhook")
	}
	if path == "/v1/credential" {
		w.Header().Set("Referrer-Policy", "no-referrer")
	}
	if methods == nil {
		writeRefusal(w, refuse("NOT_FOUND"))
		return
	}
	if path == "/v1/store" && !wh.allowOrigin(w, r) {
		return
	}
	handle, ok := methods[r.Method]
	if !ok {
		names := make([]string, 0, len(methods))
		for name := range methods {
			names = append(names, name)
		}
		w.Header().Set("Allow", strings.Join(names, ", "))
		writeRefusal(w, refuse("METHOD_NOT_ALLOWED"))
		return
	}
	limit, isRead := bodyCap(path), r.ContentLength == 0
	read := func() ([]byte, *Refusal) {
		body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
		if err != nil {
			return nil, refuse("INVALID_REQUEST")
		}
		if isRead = int64(len(body)) <= limit; !isRead {
			return nil, refuse("TOO_LARGE")
		}
		return body, nil
	}
	refusal := refuse("TOO_LARGE")
	if r.ContentLength <= limit {
		refusal = handle(w, r, read)
	}
	if refusal != nil {
		if !isRead {
			// Otherwise net/http waits for the body before it answers.
			w.Header().Set("Connection", "close")
		}
		writeRefusal(w, refusal)
	}
}

func (wh *Webhook) endpoint(path string) map[string]handler {
	switch path {
	case "/bind":
		return map[string]handler{"GET": wh.bindPage, "POST": wh.bindForm}
	case "/v1/exchange":
		return map[string]handler{"POST": wh.exchange}
	case "/v1/health":
		return map[string]handler{"GET": health, "POST": wh.signed(wh.signedHealth)}
	case "/v1/storage":
		return map[string]handler{"POST": wh.signed(wh.storage)}
	case "/v1/store":
		return map[string]handler{"POST": wh.store}
	case "/v1/credential":
		return map[string]handler{"GET": wh.credential}
	case "/v1/proxy":
		return map[string]handler{"POST": wh.proxy}
	case "/v1/approvals":
		return map[string]handler{"POST": wh.signed(wh.askApproval)}
	case "/v1/approvals/list":
		return map[string]handler{"POST": wh.signed(wh.listApprovals)}
	}
	return wh.pages(path)
}

// signed lets in what the service signed, with a JSON object or no body.
func (wh *Webhook) signed(next func(Object) (any, *Refusal)) handler {
	return func(w http.ResponseWriter, r *http.Request, read content) *Refusal {
		var body []byte
		refusal := wh.admitService(r, read, func(_ *Signature, whole []byte) []Op { body = whole; return nil })
		if refusal != nil {
			return refusal
		}
		object, refusal := jsonBody(r, body)
		if refusal != nil {
			return refusal
		}
		answer, refusal := next(object)
		if refusal == nil {
			writeJSON(w, 200, answer)
		}
		return refusal
	}
}

func jsonBody(r *http.Request, body []byte) (Object, *Refusal) {
	if len(body) == 0 {
		return Object{}, nil
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	object, err := parseObject(body)
	if err != nil || !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return nil, refuse("INVALID_REQUEST")
	}
	return object, nil
}

func health(w http.ResponseWriter, _ *http.Request, _ content) *Refusal {
	writeJSON(w, 200, Object{"status": "ok"})
	return nil
}

var capabilities = []string{"storage", "credential", "store", "proxy", "sealed-delivery", "request-rules", "http-proxy", "approvals"}

func (wh *Webhook) signedHealth(Object) (any, *Refusal) {
	return Object{
		"status": "ok", "protocol": "v1", "version": "example-go-1", "webhookId": wh.webhookID,
		"capabilities": capabilities, "time": formatTime(time.Now()),
	}, nil
}

// allowOrigin is CORS for the one endpoint that a browser calls (SAV-21 to SAV-25). It says whether to go on.
func (wh *Webhook) allowOrigin(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if len(r.Header.Values("Origin")) == 0 {
		return true
	}
	service, _ := url.Parse(wh.serviceURL)
	if origin != service.Scheme+"://"+service.Host {
		writeRefusal(w, refuse("ORIGIN_NOT_ALLOWED"))
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Vary", "Origin")
	if r.Method != "OPTIONS" || r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	w.Header().Set("Access-Control-Allow-Methods", "POST")
	w.Header().Set("Access-Control-Allow-Headers", "authorization, content-type")
	w.WriteHeader(204)
	return false
}

// limiter counts within a minute.
type limiter struct {
	since time.Time
	count int
}

func (l *limiter) take(most int, now time.Time) bool {
	if now.Sub(l.since) >= time.Minute {
		l.since, l.count = now, 0
	}
	l.count++
	return l.count <= most
}
