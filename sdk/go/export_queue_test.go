package svc

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStalledServiceCostsTheOldestAloneAndTheRestArriveUnharmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		service := newFakeService(t, func(call fakeCall) fakeAnswer {
			if call.what == "POST /v1/ingest" {
				<-let
			}
			return taking500(call)
		})
		tracer := service.tracer(WithMaxQueued(0, 1<<20), WithBatch(10, time.Millisecond))
		const offered = 5000
		for number := range offered {
			if number == 10 {
				time.Sleep(time.Second) // The first batch is on its way.
			}
			// Of many sizes, some too large for a block.
			_, span := tracer.Span(t.Context(), fmt.Sprint(number), Input(strings.Repeat(fmt.Sprint(number%10), number*37%5000)))
			if number%997 == 0 {
				span.Output(strings.Repeat("o", blockBytes/3))
			}
			span.End()
		}
		close(let)
		if err := tracer.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var numbers []int
		for _, batch := range service.callsTo("POST /v1/ingest") {
			for _, name := range spansIn(t, batch) {
				number, err := strconv.Atoi(name)
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf(`"name":"%d"`, number)
				if length := number * 37 % 5000; length > 0 {
					want = fmt.Sprintf(`"input":"%s"`, strings.Repeat(fmt.Sprint(number%10), length))
				}
				if !strings.Contains(batch.body, want) {
					t.Fatalf("span %d arrived with another input", number)
				}
				numbers = append(numbers, number)
			}
		}
		// The batch that was on its way, then the newest without a gap.
		rest := numbers[10:]
		for at, number := range rest {
			if number != offered-len(rest)+at {
				t.Fatalf("%d arrived in the place of %d", number, offered-len(rest)+at)
			}
		}
		found := tracer.Counters()
		if found.Sent != int64(len(numbers)) || found.Sent+found.Dropped != offered || found.Dropped == 0 {
			t.Errorf("%+v, %d arrived", found, len(numbers))
		}
	})
}

func TestBlocksAreUsedAgain(t *testing.T) {
	var texts arena
	text := make([]byte, 1000)
	var queue []*block
	blocks := map[*block]bool{}
	for range 100_000 {
		_, in := texts.keep(text)
		blocks[in] = true
		if queue = append(queue, in); len(queue) > 1000 {
			texts.release(queue[0])
			queue = queue[1:]
		}
	}
	// A thousand texts fill four blocks; one is being filled and one emptied.
	if len(blocks) > 7 {
		t.Errorf("%d blocks were made", len(blocks))
	}
}
