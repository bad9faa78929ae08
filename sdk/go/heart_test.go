package svc

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// beats records when a heart beats, in whole seconds since its start, and with which details.
type beats struct {
	began   time.Time
	seconds []float64
	details []string
	find    func(number int) pulse
}

func (b *beats) beat(_ context.Context, details json.RawMessage) pulse {
	b.seconds = append(b.seconds, time.Since(b.began).Seconds())
	b.details = append(b.details, string(details))
	return b.find(len(b.seconds))
}

func always(found pulse) func(int) pulse { return func(int) pulse { return found } }

func beating(t *testing.T, find func(int) pulse) (*beats, *heart) {
	b := &beats{began: time.Now(), find: find}
	return b, startHeart(t.Context(), 8*time.Second, b.beat)
}

func TestAHeartBeatsAsOftenAsItWasAskedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := beating(t, always(beatAgain))
		time.Sleep(25 * time.Second)
		h.stop()
		if !slices.Equal(b.seconds, []float64{8, 16, 24}) {
			t.Errorf("it beat at %v", b.seconds)
		}
	})
}

func TestAHeartBeatsSoonerAfterABeatThatWasNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := beating(t, func(number int) pulse {
			if number == 1 {
				return beatSooner
			}
			return beatAgain
		})
		time.Sleep(19 * time.Second)
		h.stop()
		if !slices.Equal(b.seconds, []float64{8, 10, 18}) {
			t.Errorf("it beat at %v", b.seconds)
		}
	})
}

func TestDetailsTravelWithinASecondAndTheLastOnesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := beating(t, always(beatAgain))
		time.Sleep(2 * time.Second)
		h.tell(json.RawMessage(`1`))
		h.tell(json.RawMessage(`2`))
		time.Sleep(7 * time.Second)
		h.stop()
		// More than a second had passed since the last beat: they go at once.
		if !slices.Equal(b.seconds, []float64{2}) || !slices.Equal(b.details, []string{"2"}) {
			t.Errorf("it beat at %v with %v", b.seconds, b.details)
		}
	})
}

func TestDetailsThatDidNotArriveAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := beating(t, func(number int) pulse {
			if number == 1 {
				return beatSooner
			}
			return beatAgain
		})
		h.tell(json.RawMessage(`1`))
		time.Sleep(3 * time.Second)
		h.stop()
		if !slices.Equal(b.details, []string{"1", "1"}) {
			t.Errorf("it beat with %v", b.details)
		}
	})
}

func TestAFlushSendsDetailsAtOnceAndNothingWhereThereAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := beating(t, always(beatAgain))
		h.flush(time.Second)
		h.tell(json.RawMessage(`1`))
		h.flush(time.Second)
		h.stop()
		h.flush(time.Second)
		if time.Since(b.began) != 0 || !slices.Equal(b.details, []string{"1"}) {
			t.Errorf("after %v it had sent %v", time.Since(b.began), b.details)
		}
	})
}

func TestAFlushRepeatsDetailsUntilTheyArriveOrItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := beating(t, func(count int) pulse {
			if count < 3 {
				return beatSooner
			}
			return beatAgain
		})
		h.tell(json.RawMessage(`1`))
		h.flush(time.Minute)
		synctest.Wait()
		if time.Since(b.began) != 2*time.Second || !slices.Equal(b.details, []string{"1", "1", "1"}) {
			t.Errorf("after %v it had sent %v", time.Since(b.began), b.details)
		}
		h.stop()
	})
	synctest.Test(t, func(t *testing.T) {
		b, h := beating(t, always(beatSooner))
		h.tell(json.RawMessage(`1`))
		h.flush(1500 * time.Millisecond)
		synctest.Wait()
		if time.Since(b.began) != 1500*time.Millisecond || !slices.Equal(b.details, []string{"1", "1"}) {
			t.Errorf("after %v it had sent %v", time.Since(b.began), b.details)
		}
		h.stop()
	})
}

func TestAHeartThatIsRefusedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := beating(t, always(beatOver))
		time.Sleep(time.Hour)
		h.stop()
		if len(b.seconds) != 1 {
			t.Errorf("it beat at %v", b.seconds)
		}
	})
}
