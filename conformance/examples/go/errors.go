package main

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Code is one of section 9.
type Code string

var statusOf = map[Code]int{
	"INVALID_REQUEST": 400, "SECRET_FIELD": 400,
	"SIGNATURE_INVALID": 401, "TICKET_INVALID": 401,
	"DESTINATION_NOT_ALLOWED": 403, "REQUEST_NOT_ALLOWED": 403, "DELIVERY_NOT_ALLOWED": 403, "APPROVAL_REQUIRED": 403,
	"ORIGIN_NOT_ALLOWED": 403, "SETUP_REQUIRED": 403,
	"NOT_FOUND": 404, "METHOD_NOT_ALLOWED": 405, "VERSION_CONFLICT": 409,
	"CODE_USED": 410, "CODE_EXPIRED": 410, "TOO_LARGE": 413,
	"EMPTY_TOKEN": 422, "NOT_INJECTABLE": 422, "RATE_LIMITED": 429,
	"INTERNAL": 500, "UPSTREAM_ERROR": 502, "UPSTREAM_TIMEOUT": 504,
}

// Refusal is an answer with a code.
type Refusal struct {
	Code       Code
	RetryAfter int
}

func (r *Refusal) Error() string { return string(r.Code) }

func refuse(code Code) *Refusal { return &Refusal{Code: code} }

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body)
}

func writeRefusal(w http.ResponseWriter, refusal *Refusal) {
	if refusal.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
	}
	writeJSON(w, statusOf[refusal.Code], Object{"error": "The request was refused.", "code": refusal.Code})
}
