// Program refund-agent is the refund agent of the repository in Go. Workers in other languages serve the same
// definition: examples/refund-agent/refund.json.
//
//	go run ./examples/refund-agent work
//	go run ./examples/refund-agent start 250 "I do not like the colour any more."
//	go run ./examples/refund-agent approve <ticket> yes
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	svc "svc.dev/sdk/go"
	"svc.dev/sdk/go/wire"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, arguments []string) error {
	client, err := svc.NewClient(svc.WithServiceName("refund-agent"))
	if err != nil {
		return err
	}
	defer client.Close()
	switch {
	case len(arguments) == 1 && arguments[0] == "work":
		return work(ctx, client)
	case len(arguments) >= 1 && len(arguments) <= 3 && arguments[0] == "start":
		return start(ctx, client, arguments[1:])
	case len(arguments) == 3 && arguments[0] == "approve":
		return approve(ctx, client, arguments[1], arguments[2] == "yes")
	}
	return errors.New("usage: refund-agent work | start [amount] [complaint] | approve <ticket> yes|no")
}

// definitionPath is in the folder of the example for TypeScript.
func definitionPath() string {
	_, source, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(source), "..", "..", "..", "..", "examples", "refund-agent", "refund.json")
}

// work serves until a signal. It says when it is registered, where, and what it serves.
func work(ctx context.Context, client *svc.Client) error {
	definition, err := os.ReadFile(definitionPath())
	if err != nil {
		return err
	}
	refund, err := svc.NewWorkflow(definition, svc.On("triage", triage), svc.On("pay", pay), svc.On("apologise", apologise))
	if err != nil {
		return err
	}
	return svc.NewWorker(client, refund, svc.WithWorkerName("refund-agent")).Run(ctx)
}

// start starts a refund and follows it.
func start(ctx context.Context, client *svc.Client, arguments []string) error {
	ticket := Ticket{
		ID:     fmt.Sprintf("t-%d", time.Now().UnixMilli()),
		Text:   "I do not like the colour any more.",
		Amount: 250,
	}
	if len(arguments) > 0 {
		amount, err := strconv.ParseFloat(arguments[0], 64)
		if err != nil {
			return err
		}
		ticket.Amount = amount
	}
	if len(arguments) > 1 {
		ticket.Text = arguments[1]
	}
	run, err := svc.Start[Payment](ctx, client, "refund", Case{ticket},
		svc.BelongsTo(wire.RunCorrelation{UserID: "customer-7"}))
	var refused *svc.ServiceError
	if errors.As(err, &refused) && refused.Code == string(wire.ErrorCodeNotFound) {
		return fmt.Errorf("%w: a worker brings it, so start one first", err)
	}
	if err != nil {
		return err
	}
	fmt.Printf("run %s, trace %s, ticket %s\n", run.ID(), run.Started().TraceID, ticket.ID)
	for entry, err := range run.Watch(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("%3d %-15s %s\n", entry.Seq, entry.Kind, entry.StepID)
		if entry.Kind == wire.JournalKindRunWaiting && entry.StepID == "ask" {
			fmt.Printf("\n    It waits for a person. In another terminal:\n")
			fmt.Printf("    go run ./examples/refund-agent approve %s yes\n\n", ticket.ID)
		}
	}
	payment, err := run.Wait(ctx)
	var failed *svc.RunFailedError
	if errors.As(err, &failed) {
		fmt.Println(failed)
		return nil
	}
	if err == nil {
		fmt.Printf("paid: %s\n", payment.ID)
	}
	return err
}

// approve is the person's answer. A ticket is approved once: the id makes a second click count as the first.
func approve(ctx context.Context, client *svc.Client, ticket string, approved bool) error {
	outcome, err := client.Publish(ctx, "approval", "ticket/"+ticket, map[string]bool{"approved": approved},
		svc.EventID("approval-of-"+ticket))
	if err != nil {
		return err
	}
	words := map[wire.Outcome]string{
		wire.OutcomeDelivered: "the run goes on",
		wire.OutcomeParked:    "kept until a run asks",
		wire.OutcomeDuplicate: "answered before",
	}
	fmt.Println(words[outcome.Outcome])
	return nil
}
