package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// modelName is the name under which the price book knows the model that this one plays.
const modelName = "gpt-4o-mini"

type tokens struct{ in, out int64 }

func tokensOf(text string) int64 { return int64(len(text)+3) / 4 }

// Judgement is what the model thinks of a complaint.
type Judgement struct {
	Confidence float64 `json:"confidence"`
	Reason     string  `json:"reason"`
}

var aFault = regexp.MustCompile(`(?i)broken|damaged|never arrived|wrong`)

// think takes a moment, as a model does.
func think(ctx context.Context) error {
	select {
	case <-time.After(300 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// judge reads a complaint the way a careful agent would.
func judge(ctx context.Context, complaint string) (Judgement, tokens, error) {
	judgement := Judgement{0.55, "the complaint names no fault that the terms cover"}
	if aFault.MatchString(complaint) {
		judgement = Judgement{0.93, "the customer names a fault that the terms cover"}
	}
	written, err := json.Marshal(judgement)
	if err != nil {
		return judgement, tokens{}, err
	}
	return judgement, tokens{220 + tokensOf(complaint), tokensOf(string(written))}, think(ctx)
}

// writeApology writes the answer to a customer whose refund was refused.
func writeApology(ctx context.Context, complaint string) (string, tokens, error) {
	text := "We are sorry. A colleague looked at your case, and we cannot refund it under our terms."
	return text, tokens{180 + tokensOf(complaint), tokensOf(text)}, think(ctx)
}

// Payment is the bank's receipt.
type Payment struct {
	ID     string  `json:"payment"`
	Amount float64 `json:"amount"`
}

var errBankDown = errors.New("the bank does not answer")

// bank stands for a bank with an API as banks have them: it fails now and then, and it takes an idempotency key.
type bank struct {
	mu          sync.Mutex
	payments    map[string]Payment
	refusedOnce map[string]bool
}

func newBank() *bank { return &bank{payments: map[string]Payment{}, refusedOnce: map[string]bool{}} }

// pay fails at the first try for a key, so that a retry can be seen; a repeated key pays nothing twice.
func (b *bank) pay(amount float64, key string) (Payment, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if paid, ok := b.payments[key]; ok {
		return paid, nil
	}
	if !b.refusedOnce[key] {
		b.refusedOnce[key] = true
		return Payment{}, errBankDown
	}
	b.payments[key] = Payment{fmt.Sprintf("payment-%d", len(b.payments)+1), amount}
	return b.payments[key], nil
}
