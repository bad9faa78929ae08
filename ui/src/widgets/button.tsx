import { Check, Copy } from 'lucide-react';
import { type ComponentProps, useCallback, useEffect, useState } from 'react';
import css from './button.module.css';

type ButtonProps = ComponentProps<'button'> & { readonly look?: 'normal' | 'primary' | 'danger' | 'plain' };

export const Button = ({ look = 'normal', className, ...rest }: ButtonProps) => (
  <button
    type="button"
    {...rest}
    className={[css['button'], look === 'normal' ? '' : css[look], className].filter(Boolean).join(' ')}
  />
);

const SAID_FOR_MS = 1500;

type Said = '' | 'Copied' | 'Not allowed';

/** Copies texts, and says for a moment whether the browser allowed it. */
export const useCopy = (): { readonly said: Said; readonly copy: (text: string) => void } => {
  const [said, setSaid] = useState<Said>('');
  useEffect(() => {
    if (said === '') return undefined;
    const timer = setTimeout(() => setSaid(''), SAID_FOR_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = useCallback((text: string): void => {
    const copied = navigator.clipboard?.writeText(text);
    if (copied === undefined) setSaid('Not allowed');
    else
      copied.then(
        () => setSaid('Copied'),
        () => setSaid('Not allowed'),
      );
  }, []);
  return { said, copy };
};

/** What came of copying: said, and seen where it did not succeed. */
export const CopySaid = ({ said }: { readonly said: Said }) => (
  <span role="status" className={said === 'Not allowed' ? undefined : 'visually-hidden'}>
    {said}
  </span>
);

/** Copies a text. Where the browser does not allow it, it says so. */
export const CopyButton = ({
  text,
  label,
  children,
}: {
  readonly text: string | (() => string);
  readonly label: string;
  readonly children?: string;
}) => {
  const { said, copy } = useCopy();
  return (
    <Button
      look="plain"
      onClick={() => copy(typeof text === 'string' ? text : text())}
      aria-label={children === undefined ? label : `${label} ${children}`}
      title={label}
    >
      {said === 'Copied' ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      {children}
      <CopySaid said={said} />
    </Button>
  );
};
