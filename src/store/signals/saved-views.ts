import type { ProjectReach } from '../../model/scope.ts';
import type { UnixNano } from '../../model/time.ts';
import type { DeleteOutcome, Page, Paging } from './query.ts';

/** A named link into the interface, or a board: a few of such links, shown as charts. */
export type SavedView = {
  readonly viewId: string;
  readonly name: string;
  readonly project: string;
  readonly createdAt: UnixNano;
  readonly shows:
    | { readonly kind: 'page'; readonly path: string }
    /** Ids of saved views of the same project, in order. One that was deleted since stays until the board is saved again. */
    | { readonly kind: 'board'; readonly views: readonly string[] };
};

export type NewSavedView = SavedView & {
  /** The person whom the path names: the view goes when that person is erased. */
  readonly userId?: string;
};

/** Views and boards of one project, at the most. */
export const MOST_SAVED_VIEWS = 200;

/** Saved views are records: retention does not trim them. */
export interface SavedViewStore {
  /**
   * Stores a view. One with the same id in its project is replaced, and keeps the time of its making.
   * @returns it as stored, or `undefined` when the project has as many as it may have: nothing was written then
   */
  putView(view: NewSavedView): Promise<SavedView | undefined>;
  /** Newest first. */
  listViews(query: Paging): Promise<Page<SavedView>>;
  /** The view with this id; of several the one of the first project. */
  findView(viewId: string, reach: ProjectReach): Promise<SavedView | undefined>;
  deleteView(project: string, viewId: string): Promise<DeleteOutcome>;
  /** Removes the views whose paths name this person. */
  deleteViewsOfUser(userId: string, reach: ProjectReach): Promise<DeleteOutcome>;
}
