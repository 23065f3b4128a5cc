package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

var errAddress = errors.New("the address is not one that may be called")

// refused lists ADR-02; the IPv4-mapped forms are unmapped before they are compared (ADR-03).
var refused = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "::1/128", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2001:db8::/32", "2002::/16", "3fff::/20",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for at, each := range list {
		all[at] = netip.MustParsePrefix(each)
	}
	return all
}

func within(networks []netip.Prefix, address netip.Addr) bool {
	for _, network := range networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// schemeFits is ADR-08: http only to what the operator named.
func (wh *Webhook) schemeFits(upstream *url.URL) bool {
	if upstream.Scheme == "https" {
		return true
	}
	address, err := netip.ParseAddr(upstream.Hostname())
	return err == nil && within(wh.allowed, address.Unmap())
}

// caller makes calls that resolve a name once, connect to what was checked, follow nothing and heed no proxy variables
// (ADR-01, ADR-05, ADR-06). Each call has a connection of its own, so that no answer meets another's (PRX-37).
func (wh *Webhook) caller() *http.Client {
	transport := &http.Transport{
		DialContext:           wh.dial,
		DisableKeepAlives:     true,
		DisableCompression:    true,
		TLSHandshakeTimeout:   8 * time.Second,
		ResponseHeaderTimeout: answerTime,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (wh *Webhook) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		if plain := address.Unmap(); !plain.IsValid() || within(refused, plain) && !within(wh.allowed, plain) {
			return nil, errAddress
		}
	}
	dialer := net.Dialer{Timeout: 8 * time.Second}
	for _, address := range addresses {
		var connection net.Conn
		if connection, err = dialer.DialContext(ctx, network, net.JoinHostPort(address.Unmap().String(), port)); err == nil {
			return connection, nil
		}
	}
	return nil, err
}
