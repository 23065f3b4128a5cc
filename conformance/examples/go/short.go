package main

import (
	"encoding/base64"
	"strings"
)

// besideShort is PRX-48.
var besideShort = map[string]bool{
	"allow": true, "content-encoding": true, "content-language": true, "content-length": true, "content-range": true,
	"content-type": true, "date": true, "location": true, "mcp-protocol-version": true, "mcp-session-id": true, "retry-after": true,
}

// mayBeInjected is SAV-40.
func (r *Record) mayBeInjected() bool {
	secret := r.accessToken()
	return len(r.AllowedHosts) == 0 || r.AllowShort || secret == "" || !isShort(secret)
}

// isShort is section 5.5, "Short secrets": whether a secret cannot hold 80 bits.
func isShort(secret string) bool {
	secret = partOfBasic(secret)
	distinct := map[rune]bool{}
	for _, each := range secret {
		distinct[each] = true
	}
	if len(distinct) < 2 {
		return true
	}
	least := 16
	switch {
	case len(distinct) < 8:
		least = []int{80, 51, 40, 35, 31, 29}[len(distinct)-2]
	case strings.Trim(secret, "0123456789") == "":
		least = 25
	case strings.Trim(secret, "0123456789abcdef") == "" || strings.Trim(secret, "0123456789ABCDEF") == "":
		least = 20
	case isOfCase(secret, 'a') || isOfCase(secret, 'A'):
		least = 18
	}
	return len(secret) < least
}

func isOfCase(text string, first rune) bool {
	return strings.IndexFunc(text, func(each rune) bool { return each < first || each >= first+26 }) == -1
}

// partOfBasic is what counts of HTTP Basic credentials (RFC 7617).
func partOfBasic(secret string) string {
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(secret, "="))
	user, password, found := strings.Cut(string(decoded), ":")
	if err != nil || !found || strings.IndexFunc(string(decoded), func(each rune) bool { return each < 0x20 || each > 0x7e }) != -1 {
		return secret
	}
	if len(password) > 1 {
		return password
	}
	return user
}
