/** What a machine wants done, as data: the name of the action and its static parameters. Nothing was executed. */
export type Effect = { readonly type: string; readonly params: unknown };
