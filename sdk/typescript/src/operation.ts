import type { operations } from './generated/wire.ts';

/** One operation of the service, as its interface document names it. @see spec/openapi.yaml */
export type OperationId = keyof operations;

/** The good answer of an operation. */
export type AnswerOf<O extends OperationId> = operations[O] extends {
  readonly responses: { readonly 200: { readonly content: { readonly 'application/json': infer Answer } } };
}
  ? Answer
  : never;

/** The answer of an operation that made something. */
export type CreatedBy<O extends OperationId> = operations[O] extends {
  readonly responses: { readonly 201: { readonly content: { readonly 'application/json': infer Answer } } };
}
  ? Answer
  : never;

/** The query of a read, in wire spelling. */
export type QueryOf<O extends OperationId> = operations[O] extends {
  readonly parameters: { readonly query?: infer Query };
}
  ? NonNullable<Query>
  : never;

type WrittenBody<O extends OperationId> = operations[O] extends {
  readonly requestBody?: { readonly content: { readonly 'application/json': infer Body } };
}
  ? Body
  : never;

/** What an operation takes. A member that may be left out may be `undefined` too: it is not written. */
export type BodyOf<O extends OperationId> = {
  readonly [K in keyof WrittenBody<O>]: object extends Pick<WrittenBody<O>, K>
    ? WrittenBody<O>[K] | undefined
    : WrittenBody<O>[K];
};
