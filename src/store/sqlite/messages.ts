/** What the main thread and a thread of a store say to each other. */

/** A failure on its way to the main thread; `unavailable` becomes `StoreUnavailable`, anything else is a bug. */
export type ErrorInfo = { readonly unavailable: boolean; readonly message: string };

/** A request of the main thread. */
export type Request = [id: number, method: string, ...args: unknown[]];
/** What the main thread posts: requests that were made together, in their order. */
export type Requests = Request[];
/** The answer to a request, or, without an id, something that the thread reports by itself. */
export type Reply = [id: number, value: unknown, error?: ErrorInfo];
export type Report = { readonly fatal: string } | { readonly needed: 'search' };
/** What a thread posts: answers that became known together. */
export type Replies = Reply[] | Report;
