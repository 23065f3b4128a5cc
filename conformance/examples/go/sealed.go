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

// Recipient is a public key (RFC 7518 section 6.2.1, RFC 8037 section 2); OKP has no Y.
type Recipient struct {
	Crv string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y,omitempty"`
}

// sealingCurve is one that keys may be of (SAV-09).
type sealingCurve struct {
	ecdh.Curve
	kty  string
	size int // Of a coordinate, in bytes.
}

var sealingCurves = map[string]sealingCurve{
	"P-256":  {ecdh.P256(), "EC", 32},
	"P-384":  {ecdh.P384(), "EC", 48},
	"X25519": {ecdh.X25519(), "OKP", 32},
}

// thumbprint is RFC 7638: the required members in the order of their names.
func (r Recipient) thumbprint() string {
	members := `{"crv":"` + r.Crv + `","kty":"` + sealingCurves[r.Crv].kty + `","x":"` + r.X + `"`
	if r.Y != "" {
		members += `,"y":"` + r.Y + `"`
	}
	sum := sha256.Sum256([]byte(members + "}"))
	return base64url(sum[:])
}

func (r Recipient) key() (*ecdh.PublicKey, error) {
	curve, known := sealingCurves[r.Crv]
	x, errX := part64.DecodeString(r.X)
	y, errY := part64.DecodeString(r.Y)
	if !known || errX != nil || errY != nil || len(x) != curve.size {
		return nil, errors.New("not a coordinate of a curve that there is")
	}
	point := x
	if curve.kty == "EC" {
		if len(y) != curve.size {
			return nil, errors.New("not a coordinate of its curve")
		}
		point = append(append([]byte{4}, x...), y...)
	} else if r.Y != "" {
		return nil, errors.New("a coordinate too many")
	}
	return curve.NewPublicKey(point) // Refuses points off the curve.
}

// agree makes a fresh key on the curve of another one, and their shared secret; Go refuses one of zeros (SAV-39).
func (r Recipient) agree() (ours *ecdh.PublicKey, shared []byte, err error) {
	theirs, err := r.key()
	if err != nil {
		return nil, nil, err
	}
	fresh, err := theirs.Curve().GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	shared, err = fresh.ECDH(theirs)
	return fresh.PublicKey(), shared, err
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
		crv, _ := text(jwk, "crv")
		x, _ := text(jwk, "x")
		y, _ := text(jwk, "y")
		recipient := Recipient{Crv: crv, X: x, Y: y}
		if _, _, err := recipient.agree(); err != nil || jwk["kty"] != sealingCurves[crv].kty || jwk["d"] != nil {
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
	ours, shared, err := recipient.agree()
	if err != nil {
		return "", err
	}
	curve := sealingCurves[recipient.Crv]
	epk := Object{"kty": curve.kty, "crv": recipient.Crv}
	if point := ours.Bytes(); curve.kty == "EC" {
		epk["x"], epk["y"] = base64url(point[1:1+curve.size]), base64url(point[1+curve.size:])
	} else {
		epk["x"] = base64url(point)
	}
	header, err := json.Marshal(Object{
		"alg": "ECDH-ES", "enc": "A256GCM", "kid": recipient.thumbprint(), "cty": "json",
		"epk": epk,
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
