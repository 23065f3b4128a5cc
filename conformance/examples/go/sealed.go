package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// Recipient is a public EC P-256 key (RFC 7518 section 6.2.1).
type Recipient struct {
	X string `json:"x"`
	Y string `json:"y"`
}

// thumbprint is RFC 7638: the required members in the order of their names.
func (r Recipient) thumbprint() string {
	sum := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + r.X + `","y":"` + r.Y + `"}`))
	return base64url(sum[:])
}

func (r Recipient) key() (*ecdh.PublicKey, error) {
	x, errX := part64.DecodeString(r.X)
	y, errY := part64.DecodeString(r.Y)
	if errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
		return nil, errors.New("a coordinate is 32 bytes of base64url")
	}
	return ecdh.P256().NewPublicKey(append(append([]byte{4}, x...), y...)) // Refuses points off the curve.
}

// readRecipients is SAV-09: 1 to 20 public keys, never a private one.
func readRecipients(value any) ([]Recipient, bool) {
	list, ok := value.([]any)
	if !ok || len(list) < 1 || len(list) > 20 {
		return nil, false
	}
	recipients := make([]Recipient, 0, len(list))
	for _, each := range list {
		jwk, _ := each.(Object)
		x, _ := text(jwk, "x")
		y, _ := text(jwk, "y")
		recipient := Recipient{X: x, Y: y}
		if _, err := recipient.key(); err != nil || jwk["kty"] != "EC" || jwk["crv"] != "P-256" || jwk["d"] != nil {
			return nil, false
		}
		recipients = append(recipients, recipient)
	}
	return recipients, true
}

func recipientOf(recipients []Recipient, thumbprint string) *Recipient {
	for at := range recipients {
		if thumbprint != "" && recipients[at].thumbprint() == thumbprint {
			return &recipients[at]
		}
	}
	return nil
}

// sealTo makes a compact JWE (CRE-19): ECDH-ES with a fresh key, A256GCM, RFC 7518 section 4.6.
func sealTo(recipient Recipient, plain []byte) (string, error) {
	theirs, err := recipient.key()
	if err != nil {
		return "", err
	}
	ours, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	shared, err := ours.ECDH(theirs)
	if err != nil {
		return "", err
	}
	point := ours.PublicKey().Bytes()
	header, err := json.Marshal(Object{
		"alg": "ECDH-ES", "enc": "A256GCM", "kid": recipient.thumbprint(), "cty": "json",
		"epk": Object{"kty": "EC", "crv": "P-256", "x": base64url(point[1:33]), "y": base64url(point[33:])},
	})
	if err != nil {
		return "", err
	}
	protected := base64.RawURLEncoding.EncodeToString(header)
	block, err := aes.NewCipher(concatKDF(shared))
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	iv := randomBytes(gcm.NonceSize())
	sealed := gcm.Seal(nil, iv, plain, []byte(protected))
	text, tag := sealed[:len(sealed)-gcm.Overhead()], sealed[len(sealed)-gcm.Overhead():]
	return protected + ".." + base64url(iv) + "." + base64url(text) + "." + base64url(tag), nil
}

// concatKDF derives the content key: one round of SHA-256 is 256 bits.
func concatKDF(shared []byte) []byte {
	input := binary.BigEndian.AppendUint32(nil, 1)
	input = append(input, shared...)
	input = append(input, sshStrings([]byte("A256GCM"), nil, nil)...) // AlgorithmID, PartyUInfo, PartyVInfo
	input = binary.BigEndian.AppendUint32(input, 256)
	sum := sha256.Sum256(input)
	return sum[:]
}
