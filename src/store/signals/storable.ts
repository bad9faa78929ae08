/**
 * Whether a database can hold a text, and so whether any signal can have it. What comes from paths, filters and cursors is asked here
 * first: U+0000 would fail a statement, and half a character would be sent as another one.
 */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** A text as a database stores it. */
export const storable = (text: string): string => text.replaceAll('\0', '\ufffd');

const TRACE_ID = /^[0-9a-f]{32}$/;
const SPAN_ID = /^[0-9a-f]{16}$/;
/** Ids of another form come from paths and cursors: nothing has them. */
export const isTraceId = (text: string): boolean => TRACE_ID.test(text);
export const isSpanId = (text: string): boolean => SPAN_ID.test(text);
