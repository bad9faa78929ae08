/** Any JSON value, as data: no `undefined`, no function, no class instance. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** A JSON object. Built with a null prototype where its keys come from outside, so that `__proto__` is a plain key. */
export type JsonObject = { readonly [key: string]: Json };
