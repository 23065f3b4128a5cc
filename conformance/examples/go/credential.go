package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"strings"
)

// credential delivers (section 5.4). Whatever else a client forwards, a ticket in the query is what counts (CRE-05).
func (wh *Webhook) credential(w http.ResponseWriter, r *http.Request, _ content) *Refusal {
	query, err := url.ParseQuery(r.URL.RawQuery)
	tickets := query["ticket"]
	if err != nil || len(tickets) > 1 {
		return refuse("TICKET_INVALID")
	}
	compact := bearer(r)
	if len(tickets) == 1 {
		compact = tickets[0]
	}
	wh.mu.Lock()
	defer wh.mu.Unlock()
	ticket, ops, refusal := wh.admitTicket(compact, "credential")
	if refusal != nil {
		return refusal
	}
	record := wh.record(ticket.Svc)
	var approval *Approval
	if refusal = mayDeliver(record, ticket); refusal == nil {
		approval, refusal = wh.approvalOf(record, use{ticket.Svc, ticket.Sub, delivery, true})
	}
	var body []byte
	var sealed bool
	if refusal == nil {
		body, sealed, refusal = deliver(record, ticket)
	}
	if refusal == nil {
		ops = append(ops, approval.useUp()...)
	}
	// The ticket and the approval are used up, and the entry is on the disk, before the secret leaves (APR-29).
	if wh.journal.Commit(append(ops, wh.used("CREDENTIAL_DELIVERED", ticket.Svc, ticket.Sub, refusal)...)...) != nil {
		return refuse("INTERNAL")
	}
	if refusal != nil {
		return refusal
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	if sealed {
		w.Header().Set("Content-Type", "application/jose")
	}
	w.Write(body)
	return nil
}

func mayDeliver(record *Record, ticket *Ticket) *Refusal {
	if record == nil {
		return refuse("NOT_FOUND")
	}
	if record.Delivery == "proxy-only" || record.Delivery == "sealed" && recipientOf(record.Recipients, ticket.Jkt) == nil {
		return refuse("DELIVERY_NOT_ALLOWED")
	}
	return nil
}

func deliver(record *Record, ticket *Ticket) (body []byte, sealed bool, refusal *Refusal) {
	if record.accessToken() == "" {
		return nil, false, refuse("EMPTY_TOKEN")
	}
	body, _ = json.Marshal(Object{"token": record.envelope(ticket)})
	if record.Delivery != "sealed" {
		return body, false, nil
	}
	compact, err := sealTo(*recipientOf(record.Recipients, ticket.Jkt), body)
	if err != nil {
		return nil, false, refuse("INTERNAL")
	}
	return []byte(compact), true, nil
}

func (r Record) envelope(ticket *Ticket) Object {
	token := Object{
		"accessToken": r.accessToken(), "serviceName": r.ServiceName, "tokenType": r.TokenType, "createdAt": r.CreatedAt,
	}
	if r.Expiry != "" {
		token["expiryTime"] = r.Expiry
	}
	if refresh := r.Secrets["refreshToken"]; refresh != "" && r.Share && ticket.Rfp == "none" { // CRE-10
		token["refreshToken"] = refresh
	}
	switch r.TokenType {
	case "Certificate":
		token["privateKey"] = r.Secrets["privateKey"]
	case "SSHKey":
		line := r.PublicKey
		if line == "" {
			line = publicKeyLine(r.Secrets["privateKey"])
		}
		if line != "" {
			token["publicKey"] = line
		}
		if fingerprint := fingerprintOf(line); fingerprint != "" {
			token["fingerprint"] = fingerprint
		}
	}
	return token
}

// fingerprintOf is what ssh-keygen -l prints of a public key: the SHA-256 of its blob, in base64 without padding.
func fingerprintOf(line string) string {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return ""
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(blob)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

const opensshMagic = "openssh-key-v1\x00"

// publicKeyLine reads the public half out of a private key: OpenSSH's own format, or PKCS #8, PKCS #1 and SEC 1.
func publicKeyLine(privateKey string) string {
	block, _ := pem.Decode([]byte(privateKey))
	if block == nil {
		return ""
	}
	var blob []byte
	if strings.HasPrefix(string(block.Bytes), opensshMagic) {
		blob = opensshBlob(block.Bytes[len(opensshMagic):])
	} else {
		blob = blobOf(parsePrivateKey(block.Bytes))
	}
	kind, _ := takeString(blob)
	if len(kind) == 0 {
		return ""
	}
	return string(kind) + " " + base64.StdEncoding.EncodeToString(blob)
}

// opensshBlob skips cipher, derivation and its options, and the number of keys: the public key stands in the clear.
func opensshBlob(rest []byte) []byte {
	for skipped := 0; skipped < 3; skipped++ {
		_, rest = takeString(rest)
	}
	if len(rest) < 4 {
		return nil
	}
	blob, _ := takeString(rest[4:])
	return blob
}

func takeString(bytes []byte) (taken, rest []byte) {
	if len(bytes) < 4 {
		return nil, nil
	}
	length := binary.BigEndian.Uint32(bytes)
	if uint64(len(bytes)-4) < uint64(length) {
		return nil, nil
	}
	return bytes[4 : 4+length], bytes[4+length:]
}

func parsePrivateKey(der []byte) any {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	return nil
}

// blobOf writes a public key as SSH does (RFC 4253 section 6.6, RFC 5656 section 3.1, RFC 8709 section 4).
func blobOf(key any) []byte {
	switch each := key.(type) {
	case ed25519.PrivateKey:
		return sshStrings([]byte("ssh-ed25519"), each.Public().(ed25519.PublicKey))
	case *rsa.PrivateKey:
		return sshStrings([]byte("ssh-rsa"), mpint(big.NewInt(int64(each.E))), mpint(each.N))
	case *ecdsa.PrivateKey:
		curve := map[string]string{"P-256": "nistp256", "P-384": "nistp384", "P-521": "nistp521"}[each.Curve.Params().Name]
		point, err := each.PublicKey.ECDH()
		if curve == "" || err != nil {
			return nil
		}
		return sshStrings([]byte("ecdsa-sha2-"+curve), []byte(curve), point.Bytes())
	}
	return nil
}

func sshStrings(parts ...[]byte) []byte {
	var blob []byte
	for _, part := range parts {
		blob = append(binary.BigEndian.AppendUint32(blob, uint32(len(part))), part...)
	}
	return blob
}

// mpint has a zero in front where its first bit would make it negative.
func mpint(number *big.Int) []byte {
	bytes := number.Bytes()
	if len(bytes) > 0 && bytes[0]&0x80 != 0 {
		return append([]byte{0}, bytes...)
	}
	return bytes
}
