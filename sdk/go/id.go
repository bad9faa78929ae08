package svc

import (
	"crypto/rand"
	"encoding/hex"
)

// newKey makes an identity for a call that may be sent twice: a random UUID.
func newKey() string {
	var raw [16]byte
	// It never fails: see crypto/rand.
	_, _ = rand.Read(raw[:])
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	text := hex.EncodeToString(raw[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
