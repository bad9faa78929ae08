import type { ErrorObject } from 'ajv';

/** One thing wrong with a document: where it is, as `steps[2].next[0].when`, and what. The empty path is the document. */
export type Fault = { readonly path: string; readonly message: string };

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

/**
 * Says in words what a JSON Schema validator found.
 * @param root name of the document in paths; empty for none
 * @param values whether messages may show the value at fault: yes for a definition, never for a payload
 */
export const faultOfValidation = (error: ErrorObject, root: string, values: 'shown' | 'hidden'): Fault => {
  const path = pathOfPointer(root, error.instancePath);
  const params = error.params as Record<string, unknown>;
  const inner = (key: unknown): string =>
    pathOfPointer(path, `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`);
  const but = values === 'shown' ? `, not ${show(error.data)}` : '';
  switch (error.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        path: inner(params['additionalProperty'] ?? params['unevaluatedProperty']),
        message: values === 'shown' ? 'unknown key' : 'is not allowed',
      };
    case 'required':
      return { path: inner(params['missingProperty']), message: 'is required' };
    case 'type':
      return { path, message: `must be ${[params['type']].flat().join(' or ')}${but}` };
    case 'enum':
      return { path, message: `must be one of ${show(params['allowedValues'], CHOICES_CHARACTERS)}${but}` };
    case 'const':
      return { path, message: `must be ${show(params['allowedValue'], CHOICES_CHARACTERS)}${but}` };
    case 'discriminator':
      return {
        path: inner(params['tag']),
        message:
          params['error'] === 'tag' ? 'is required' : `unknown ${String(params['tag'])} ${show(params['tagValue'])}`,
      };
    default:
      return { path, message: `${error.message ?? 'is invalid'}${but}` };
  }
};
