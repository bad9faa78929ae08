import { type RefObject, useEffect } from 'react';
import { fieldNames } from '../model/field-path.ts';

/**
 * Marks the field that a refusal names, in the form around its notice: fields of forms have the names of the API's. Readers who do not
 * see the notice hear it with the field.
 * @param notice has an id
 */
export const useFieldMark = (notice: RefObject<HTMLElement | null>, path: string | undefined): void => {
  useEffect(() => {
    const { current } = notice;
    const fields = current?.closest('form')?.elements;
    if (path === undefined || current === null || fields === undefined) return undefined;
    const found = fieldNames(path)
      .map((name) => fields.namedItem(name))
      .find((field) => field instanceof HTMLElement);
    if (found === undefined) return undefined;
    found.setAttribute('aria-invalid', 'true');
    found.setAttribute('aria-describedby', current.id);
    return () => {
      found.removeAttribute('aria-invalid');
      found.removeAttribute('aria-describedby');
    };
  }, [notice, path]);
};
