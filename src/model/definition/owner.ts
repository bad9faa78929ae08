/**
 * Who owns a definition: a project, by its name, or the service, by the empty name that no project has. Ids and versions are
 * unique with one owner.
 * @see Interface decisions, section 12, "Definitions have an owner"
 */
export type DefinitionOwner = string;

export const SERVICE: DefinitionOwner = '';

/** The owner as answers show it: definitions of the service name no project. */
export const projectOfOwner = (owner: DefinitionOwner): { readonly project?: string } =>
  owner === SERVICE ? {} : { project: owner };

/** One text for a definition of all versions. No id has an `@` in it, so the two parts cannot be confused. */
export const ownedId = (owner: DefinitionOwner, id: string): string => `${id}@${owner}`;
/** What `ownedId` made one text of. */
export const ownerAndId = (
  owned: string,
): { readonly definitionOwner: DefinitionOwner; readonly definitionId: string } => {
  const at = owned.indexOf('@');
  return { definitionOwner: owned.slice(at + 1), definitionId: owned.slice(0, at) };
};
