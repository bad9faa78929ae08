use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::wire::{ReportedUsage, Usage};

/// The usage of one attempt: of its spans, or as its body says.
#[derive(Default)]
pub(crate) struct UsageTotals {
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    by_model: Vec<(Option<String>, Map<String, Value>)>,
    has_model_span: bool,
}

impl UsageTotals {
    pub(crate) fn on_model_span(&self, model: Option<&str>, usage: Option<&Usage>) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.has_model_span = true;
        let Some(Ok(Value::Object(usage))) = usage.map(serde_json::to_value) else { return };
        match found.by_model.iter_mut().find(|(known, _)| known.as_deref() == model) {
            Some((_, total)) => add(total, usage),
            None => found.by_model.push((model.map(str::to_owned), usage)),
        }
    }

    /// What is reported: what the body set, else the sum of its spans by model.
    pub(crate) fn reported(&self, by_hand: Option<Vec<ReportedUsage>>) -> Vec<ReportedUsage> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut by_hand) = by_hand else {
            let entries = found.by_model.iter().filter(|(_, usage)| !usage.is_empty());
            let entries = entries.filter_map(|(model, usage)| {
                let usage: ReportedUsage = serde_json::from_value(usage.clone().into()).ok()?;
                Some(ReportedUsage { model: model.clone(), ..usage })
            });
            return entries.collect();
        };
        if !found.has_model_span {
            // Tokens of spans are on the spans. Usage that is reported by hand, beside no model span, would be in no
            // trace: the service is asked for a span of it.
            for entry in &mut by_hand {
                entry.record.get_or_insert(true);
            }
        }
        by_hand
    }
}

/// Adds up. A count that nobody gave stays absent: unknown is not zero.
fn add(total: &mut Map<String, Value>, usage: Map<String, Value>) {
    for (name, value) in usage {
        match (total.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => add(inner, more),
            (Some(before), more) if before.is_i64() && more.is_i64() => {
                let sum = before.as_i64().unwrap_or_default().saturating_add(more.as_i64().unwrap_or_default());
                *before = sum.into();
            }
            (Some(_), _) => {}
            (None, value) => drop(total.insert(name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: Option<i64>, output: Option<i64>) -> Usage {
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }

    #[test]
    fn spans_are_summed_by_model_and_what_is_not_known_stays_absent() {
        let totals = UsageTotals::default();
        totals.on_model_span(Some("a"), Some(&usage(Some(1), None)));
        totals.on_model_span(Some("b"), Some(&usage(Some(5), Some(6))));
        totals.on_model_span(Some("a"), Some(&usage(Some(2), None)));
        totals.on_model_span(Some("c"), None);
        let found = serde_json::to_value(totals.reported(None)).unwrap();
        assert_eq!(
            found,
            serde_json::json!([{"model": "a", "input_tokens": 3}, {"model": "b", "input_tokens": 5, "output_tokens": 6}])
        );
    }

    #[test]
    fn what_is_set_by_hand_wins_and_is_recorded_where_no_span_holds_it() {
        let by_hand = || Some(vec![ReportedUsage { input_tokens: Some(9), ..ReportedUsage::default() }]);
        let totals = UsageTotals::default();
        assert_eq!(totals.reported(by_hand())[0].record, Some(true));
        totals.on_model_span(None, Some(&usage(Some(1), None)));
        let found = totals.reported(by_hand());
        assert_eq!((found.len(), found[0].input_tokens, found[0].record), (1, Some(9), None));
    }
}
