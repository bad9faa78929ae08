/** What the totals of a trace read of its spans, in the places of `SPAN`; the context of each follows. */
export const HOT = `0, 0, 0, encode(s.span_id, 'hex'), encode(s.parent_span_id, 'hex'), s.name, s.kind, s.status, s.start_ns, s.end_ns,
  s.model, s.provider, s.entity_name, s.input_tokens, s.output_tokens, s.total_tokens, s.total_cost, s.currency, s.repeats_usage`;
