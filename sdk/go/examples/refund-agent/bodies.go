package main

import (
	"context"
	"errors"

	svc "svc.dev/sdk/go"
)

// Ticket is a customer's complaint.
type Ticket struct {
	ID     string  `json:"id"`
	Text   string  `json:"text"`
	Amount float64 `json:"amount"`
}

// Case is the input of a run, and of the steps that look at the ticket.
type Case struct {
	Ticket Ticket `json:"ticket"`
}

// Order is what the bank is asked to pay.
type Order struct {
	Amount float64 `json:"amount"`
}

// Apology is a letter to a customer.
type Apology struct {
	Text string `json:"text"`
}

func triage(ctx context.Context, step *svc.Step, in Case) (Judgement, error) {
	ctx, span := step.Span(ctx, "judge the complaint", svc.Kind(svc.ModelGeneration), svc.Model(modelName),
		svc.Provider("openai"), svc.Input(in.Ticket.Text))
	defer span.End()
	judgement, tokens, err := judge(ctx, in.Ticket.Text)
	if err != nil {
		return judgement, span.Fail(err)
	}
	span.Output(judgement).Usage(tokens.in, tokens.out)
	return judgement, step.PatchState(judgement)
}

// theBank is paid once for each key, however often pay runs: the key is the same for every attempt.
var theBank = newBank()

func pay(ctx context.Context, step *svc.Step, in Order) (Payment, error) {
	_, span := step.Span(ctx, "call the bank", svc.Kind(svc.ToolCall), svc.Entity("bank"), svc.Input(in))
	defer span.End()
	payment, err := theBank.pay(in.Amount, step.Key())
	if errors.Is(err, errBankDown) {
		return payment, span.Fail(svc.Retryable(err))
	}
	return payment, span.Fail(err)
}

func apologise(ctx context.Context, step *svc.Step, in Case) (Apology, error) {
	ctx, span := step.Span(ctx, "write to the customer", svc.Kind(svc.ModelGeneration), svc.Model(modelName),
		svc.Provider("openai"), svc.Input(in.Ticket.Text))
	defer span.End()
	text, tokens, err := writeApology(ctx, in.Ticket.Text)
	if err != nil {
		return Apology{}, span.Fail(err)
	}
	span.Output(text).Usage(tokens.in, tokens.out)
	return Apology{text}, nil
}
