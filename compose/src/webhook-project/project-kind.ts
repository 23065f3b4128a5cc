/** Who wrote a project: `svault webhook init` for its user, or the repository for those who deploy without that client. */
export type ProjectKind = 'init' | 'repository';
