import type { ErrorObject } from 'ajv';

/** One thing wrong with a document: where it is, as `steps[2].next[0].when`, and what. The empty path is the document. */
export type Fault = { readonly path: string; readonly message: string };

/** Takes what is wrong with a document, as it is found. */
export type ReportFault = (fault: Fault) => void;

/** How much of a value a message shows. */
const SHOWN_CHARACTERS = 60;
/** How much of a list of legal values. */
export const CHOICES_CHARACTERS = 300;

export const show = (value: unknown, characters = SHOWN_CHARACTERS): string => {
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > characters ? `${text.slice(0, characters)}…` : text;
};

/** The path that a reader would write for steps down from `root`. */
export const pathBelow = (root: string, segments: readonly (string | number)[]): string => {
  let path = root;
  for (const step of segments) {
    const segment = String(step).slice(0, 200);
    if (/^\d+$/.test(segment)) path += `[${segment}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(segment)) path += path === '' ? segment : `.${segment}`;
    else path += `[${JSON.stringify(segment)}]`;
  }
  return path;
};

/** Turns the JSON pointer of a validator into the path that a reader would write, below `root`. */
export const pathOfPointer = (root: string, pointer: string): string =>
  pathBelow(
    root,
    pointer
      .split('/')
      .slice(1)
      .map((escaped) => escaped.replaceAll('~1', '/').replaceAll('~0', '~')),
  );

const named: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'an integer',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

/** How many of something there may be, and are. */
const counted = (bound: 'at least' | 'at most', limit: unknown, has: number, what: string): string =>
  `must have ${bound} ${String(limit)} ${what}${limit === 1 ? '' : 's'}, and has ${has}`;

/** JSON Schema counts code points. */
const charactersIn = (text: unknown): number => Array.from(String(text)).length;
const itemsIn = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/** Says in words what a JSON Schema validator found in a definition: the value, the bound, and so the way out. */
export const faultOfValidation = (error: ErrorObject): Fault => {
  const path = pathOfPointer('', error.instancePath);
  const params = error.params as Record<string, unknown>;
  const { data } = error;
  const inner = (key: unknown): string => pathBelow(path, [String(key)]);
  // Made where it is printed alone: an object of many unknown keys would be written once for each of them.
  const not = (): string => `, not ${show(data)}`;
  const { limit } = params;
  switch (error.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        path: inner(params['additionalProperty'] ?? params['unevaluatedProperty']),
        message: 'unknown key',
      };
    case 'required':
      return { path: inner(params['missingProperty']), message: 'is required' };
    case 'type': {
      const types = [params['type']].flat().map((type) => named[String(type)] ?? String(type));
      return { path, message: `must be ${types.join(' or ')}${not()}` };
    }
    case 'enum':
      return { path, message: `must be one of ${show(params['allowedValues'], CHOICES_CHARACTERS)}${not()}` };
    case 'const':
      return { path, message: `must be ${show(params['allowedValue'], CHOICES_CHARACTERS)}${not()}` };
    case 'minimum':
      return { path, message: `must be ${String(limit)} or more${not()}` };
    case 'maximum':
      return { path, message: `must be ${String(limit)} or less${not()}` };
    case 'exclusiveMinimum':
      return { path, message: `must be more than ${String(limit)}${not()}` };
    case 'exclusiveMaximum':
      return { path, message: `must be less than ${String(limit)}${not()}` };
    case 'minItems':
      return { path, message: counted('at least', limit, itemsIn(data), 'item') };
    case 'maxItems':
      return { path, message: counted('at most', limit, itemsIn(data), 'item') };
    case 'minLength':
      return { path, message: counted('at least', limit, charactersIn(data), 'character') };
    case 'maxLength':
      return { path, message: counted('at most', limit, charactersIn(data), 'character') };
    case 'pattern': {
      const rule: unknown = error.parentSchema?.['description'];
      return {
        path,
        message: `${typeof rule === 'string' ? `must be ${rule}` : `must match ${String(params['pattern'])}`}${not()}`,
      };
    }
    case 'uniqueItems':
      return { path, message: `items ${String(params['j'])} and ${String(params['i'])} are the same: leave one out` };
    case 'discriminator':
      return {
        path: inner(params['tag']),
        message:
          params['error'] === 'tag' ? 'is required' : `unknown ${String(params['tag'])} ${show(params['tagValue'])}`,
      };
    default:
      return { path, message: `${error.message ?? 'is invalid'}${not()}` };
  }
};

/** Most faults of one document that are listed; one more says how many there are beyond them. */
export const FAULTS_LISTED = 1000;

export type FaultList = {
  readonly report: ReportFault;
  /** Reports what a validator found, which is put into words only where it is listed. */
  readonly reportErrors: (errors: readonly ErrorObject[]) => void;
  /** How many there are, those that are not listed included. */
  readonly count: () => number;
  readonly list: () => readonly Fault[];
};

/**
 * Gathers the faults of one document. Each is listed once, though a validator may come to it by two ways; those that are not listed
 * are counted as they are found, because telling them apart takes as long as writing them.
 */
export const createFaultList = (): FaultList => {
  const listed = new Map<string, Fault>();
  let more = 0;
  let last: Fault | undefined;
  const report: ReportFault = (fault) => {
    if (fault.path === last?.path && fault.message === last.message) return;
    last = fault;
    const key = `${fault.path}: ${fault.message}`;
    if (listed.has(key)) return;
    if (listed.size < FAULTS_LISTED) listed.set(key, fault);
    else more += 1;
  };
  return {
    report,
    reportErrors: (errors) => {
      for (const error of errors) {
        if (listed.size < FAULTS_LISTED) report(faultOfValidation(error));
        else more += 1;
      }
    },
    count: () => listed.size + more,
    list: () => {
      if (more === 0) return [...listed.values()];
      const message = more === 1 ? 'and one more fault' : `and ${more} more faults`;
      return [...listed.values(), { path: '', message }];
    },
  };
};
