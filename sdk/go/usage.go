package svc

import (
	"slices"
	"sync"

	"svc.dev/sdk/go/wire"
)

// attemptUsage is the usage of one attempt: of its spans, or as its body says.
type attemptUsage struct {
	mu           sync.Mutex
	totals       []wire.ReportedUsage
	hasModelSpan bool
}

// onModelSpan adds up by model. A count that nobody gave stays absent: unknown is not zero.
func (u *attemptUsage) onModelSpan(model string, usage *wire.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hasModelSpan = true
	if usage == nil || *usage == (wire.Usage{}) {
		return
	}
	at := slices.IndexFunc(u.totals, func(total wire.ReportedUsage) bool { return total.Model == model })
	if at < 0 {
		at = len(u.totals)
		u.totals = append(u.totals, wire.ReportedUsage{Model: model})
	}
	total := &u.totals[at]
	total.InputTokens = sum(total.InputTokens, usage.InputTokens)
	total.OutputTokens = sum(total.OutputTokens, usage.OutputTokens)
	total.TotalTokens = sum(total.TotalTokens, usage.TotalTokens)
	if more := usage.InputDetails; more != nil {
		var into wire.ReportedUsageInputDetails
		if total.InputDetails != nil {
			into = *total.InputDetails
		}
		total.InputDetails = &wire.ReportedUsageInputDetails{
			CacheRead:    sum(into.CacheRead, more.CacheRead),
			CacheWrite:   sum(into.CacheWrite, more.CacheWrite),
			CacheWrite5m: sum(into.CacheWrite5m, more.CacheWrite5m),
			CacheWrite1h: sum(into.CacheWrite1h, more.CacheWrite1h),
			Audio:        sum(into.Audio, more.Audio),
			Text:         sum(into.Text, more.Text),
		}
	}
	if more := usage.OutputDetails; more != nil {
		var into wire.ReportedUsageOutputDetails
		if total.OutputDetails != nil {
			into = *total.OutputDetails
		}
		total.OutputDetails = &wire.ReportedUsageOutputDetails{
			Reasoning: sum(into.Reasoning, more.Reasoning),
			Audio:     sum(into.Audio, more.Audio),
			Text:      sum(into.Text, more.Text),
		}
	}
}

func sum(left, right *int64) *int64 {
	if left == nil || right == nil {
		if left == nil {
			return right
		}
		return left
	}
	total := *left + *right
	return &total
}

// reported is what the report of a step says.
func (u *attemptUsage) reported(step *Step) []wire.ReportedUsage {
	step.mu.Lock()
	entries, byHand := slices.Clone(step.usage), step.usageSet
	step.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	if !byHand {
		return slices.Clone(u.totals)
	}
	// Tokens of spans are on the spans. Usage that is reported by hand, beside no model span, would be in no trace: the
	// service is asked for a span of it.
	for at := range entries {
		if !u.hasModelSpan && entries[at].Record == nil {
			record := true
			entries[at].Record = &record
		}
	}
	return entries
}
