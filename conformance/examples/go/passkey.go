package main

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"net/url"
)

// Approver is a person's passkey.
type Approver struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	CredentialID string `json:"credentialId"`
	PublicKey    []byte `json:"publicKey"` // In COSE.
}

// Bits of the flags in authenticator data (Web Authentication Level 3, section 6.1).
const (
	userPresent  = 1 << 0
	userVerified = 1 << 2
	hasPasskey   = 1 << 6
)

// origin is that of the webhook's own pages.
func (wh *Webhook) origin() string {
	address, _ := url.Parse(wh.publicURL)
	return address.Scheme + "://" + wh.authority
}

// relyingParty is the webhook's host name.
func (wh *Webhook) relyingParty() string {
	address, _ := url.Parse("//" + wh.authority)
	return address.Hostname()
}

// clientDataHolds is APR-23, for what a browser says.
func (wh *Webhook) clientDataHolds(clientData []byte, kind string, challenge []byte) bool {
	said, err := parseObject(clientData)
	isFramed := said["crossOrigin"] != nil && said["crossOrigin"] != false
	return err == nil && said["type"] == kind && said["challenge"] == base64url(challenge) && said["origin"] == wh.origin() && !isFramed
}

// authenticatorDataHolds is APR-23, for what a passkey says.
func (wh *Webhook) authenticatorDataHolds(data []byte) bool {
	party := sha256.Sum256([]byte(wh.relyingParty()))
	return len(data) >= 37 && bytes.Equal(data[:32], party[:]) && data[32]&userPresent != 0 && data[32]&userVerified != 0
}

// signerOf is the approver whose passkey made an assertion over this challenge; nil where none did.
func (wh *Webhook) signerOf(answer Object, challenge []byte) *Approver {
	response, _ := answer["response"].(Object)
	clientData, authenticatorData, signature := binaryIn(response, "clientDataJSON"), binaryIn(response, "authenticatorData"), binaryIn(response, "signature")
	if !wh.clientDataHolds(clientData, "webauthn.get", challenge) || !wh.authenticatorDataHolds(authenticatorData) {
		return nil
	}
	hash := sha256.Sum256(clientData)
	signed := sha256.Sum256(append(bytes.Clone(authenticatorData), hash[:]...))
	for _, approver := range wh.approvers() {
		if key := publicKeyOf(approver.PublicKey); answer["id"] == approver.CredentialID && key != nil && ecdsa.VerifyASN1(key, signed[:], signature) {
			return approver
		}
	}
	return nil
}

// newPasskey reads a registration over this challenge; nil where it is none (APR-44). An attestation is not looked at.
func (wh *Webhook) newPasskey(answer Object, challenge []byte) *Approver {
	response, _ := answer["response"].(Object)
	item, _, _ := readCBOR(binaryIn(response, "attestationObject"), 0)
	attestation, _ := item.(map[any]any)
	data, _ := attestation["authData"].([]byte)
	if !wh.clientDataHolds(binaryIn(response, "clientDataJSON"), "webauthn.create", challenge) || !wh.authenticatorDataHolds(data) ||
		data[32]&hasPasskey == 0 || len(data) < 55 {
		return nil
	}
	rest := data[55:] // Behind the relying party, the flags, the counter, the model and the length of the id.
	length := int(binary.BigEndian.Uint16(data[53:]))
	if len(rest) < length {
		return nil
	}
	id, rest := rest[:length], rest[length:]
	_, behind, ok := readCBOR(rest, 0)
	if !ok {
		return nil
	}
	key := rest[:len(rest)-len(behind)]
	if answer["id"] != base64url(id) || publicKeyOf(key) == nil {
		return nil
	}
	return &Approver{ID: "apv_" + randomToken(16), CredentialID: base64url(id), PublicKey: key}
}

func binaryIn(object Object, name string) []byte {
	encoded, _ := text(object, name)
	decoded, _ := part64.DecodeString(encoded)
	return decoded
}

// publicKeyOf reads a key of ES256 in COSE (RFC 9053 section 7.1): {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
func publicKeyOf(cose []byte) *ecdsa.PublicKey {
	item, _, _ := readCBOR(cose, 0)
	members, _ := item.(map[any]any)
	x, _ := members[int64(-2)].([]byte)
	y, _ := members[int64(-3)].([]byte)
	isES256 := members[int64(1)] == int64(2) && members[int64(3)] == int64(-7) && members[int64(-1)] == int64(1)
	if !isES256 || len(x) != 32 || len(y) != 32 {
		return nil
	}
	if _, err := ecdh.P256().NewPublicKey(append(append([]byte{4}, x...), y...)); err != nil {
		return nil // No point of the curve.
	}
	return &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
}

const maxCBORDepth = 8

// readCBOR reads one item (RFC 8949) of the kinds that passkeys write: int64, []byte, string, []any, map[any]any and bool.
func readCBOR(data []byte, depth int) (item any, rest []byte, ok bool) {
	if len(data) == 0 || depth > maxCBORDepth {
		return nil, nil, false
	}
	major, count, rest := data[0]>>5, uint64(data[0]&31), data[1:]
	if count >= 24 {
		size := 1 << (count - 24)
		if count > 27 || len(rest) < size {
			return nil, nil, false
		}
		count = 0
		for _, each := range rest[:size] {
			count = count<<8 | uint64(each)
		}
		rest = rest[size:]
	}
	if count > 1<<31 || major > 1 && major < 6 && count > uint64(len(rest)) {
		return nil, nil, false
	}
	switch major {
	case 0:
		return int64(count), rest, true
	case 1:
		return -1 - int64(count), rest, true
	case 2:
		return bytes.Clone(rest[:count]), rest[count:], true
	case 3:
		return string(rest[:count]), rest[count:], true
	case 4:
		return readCBORList(rest, int(count), depth)
	case 5:
		return readCBORMap(rest, int(count), depth)
	case 7:
		return count == 21, rest, count == 20 || count == 21
	}
	return nil, nil, false
}

func readCBORList(rest []byte, count, depth int) (any, []byte, bool) {
	list := make([]any, count)
	ok := true
	for at := range list {
		if list[at], rest, ok = readCBOR(rest, depth+1); !ok {
			return nil, nil, false
		}
	}
	return list, rest, true
}

func readCBORMap(rest []byte, count, depth int) (any, []byte, bool) {
	items, rest, ok := readCBORList(rest, 2*count, depth)
	if !ok {
		return nil, nil, false
	}
	list, members := items.([]any), map[any]any{}
	for at := 0; at < len(list); at += 2 {
		switch list[at].(type) {
		case int64, string:
			members[list[at]] = list[at+1]
		default:
			return nil, nil, false
		}
	}
	return members, rest, true
}
