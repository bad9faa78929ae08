import { useParams } from '@tanstack/react-router';

/** A part of the page's path: of `/machines/$name`, `name`. */
export const useParam = (name: string): string => (useParams({ strict: false }) as Record<string, string>)[name] ?? '';
