/** Where a message goes: the kind of actor that takes it, and which one. */
export type Address = { readonly type: string; readonly id: string };
export type Message = Address & { readonly body: unknown };
