/** A file of a project, by its path inside the project's folder. */
export interface ProjectFile {
  readonly path: string;
  readonly text: string;
}

/** A file that holds a secret: made once, readable by its owner alone, never written over. */
export interface SecretFile {
  readonly path: string;
  readonly secret: string;
}

/** Who wrote a project: `svault webhook init` for its user, or the repository for those who deploy without that client. */
export type ProjectKind = 'init' | 'repository';
