import type { components } from '../../model/generated/openapi.ts';
import { formatTimestamp } from '../../model/time.ts';
import type { SavedView } from '../../store/signals/saved-views.ts';

export const savedViewToWire = ({
  viewId,
  name,
  project,
  createdAt,
  shows,
}: SavedView): components['schemas']['SavedView'] => ({
  view_id: viewId,
  name,
  project,
  created_at: formatTimestamp(createdAt),
  ...(shows.kind === 'page' ? { path: shows.path } : { views: [...shows.views] }),
});
