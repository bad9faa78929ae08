import { Link } from '@tanstack/react-router';
import { linkOf } from '../../model/saved-view.ts';
import type { SavedView } from './read.ts';

/** Opens a saved view as it was saved, with its own project and time. A path that is none of ours is shown as text. */
export const SavedLink = ({ view: { name, path, project } }: { readonly view: SavedView }) => {
  const link = path === undefined ? undefined : linkOf(path);
  if (link === undefined) return <span>{name}</span>;
  return (
    <Link to={link.to} search={{ project, ...link.params }}>
      {name}
    </Link>
  );
};
