/** How a token is described, as flags. */
export interface DescriptionOptions {
  readonly name?: string;
  readonly description?: string;
  readonly notes?: string;
  /** Separated by commas. */
  readonly tags?: string;
}

/** Members of `POST` and `PATCH` of `/api/tokens`; what is not given is left out. */
export function describedBy({ name, description, notes, tags }: DescriptionOptions): object {
  return {
    ...(name !== undefined && { displayName: name }),
    ...(description !== undefined && { description }),
    ...(notes !== undefined && { notes }),
    ...(tags !== undefined && {
      tags: tags
        .split(',')
        .map((tag) => tag.trim())
        .filter((tag) => tag !== ''),
    }),
  };
}
