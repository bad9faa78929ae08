import { asCurl, type Params } from '../model/url.ts';
import { CopyButton } from './button.tsx';
import { useKeyDialog } from './key-dialog.tsx';

const NONE: Params = {};

/** Copies the calls behind what is shown, one a line, for a shell. The key is named, never written. */
export const CopyCurl = ({ paths, params = NONE }: { readonly paths: readonly string[]; readonly params?: Params }) => {
  const { hasKey } = useKeyDialog();
  return (
    <CopyButton
      label="Copy as curl"
      text={() => paths.map((path) => asCurl(location.origin, path, params, hasKey)).join('\n')}
    >
      curl
    </CopyButton>
  );
};
