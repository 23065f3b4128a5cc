/** What a build is known by. */
interface Build {
  /** Of the repository, as git fetches it; undefined where the checkout has no remote. */
  readonly repository: string | undefined;
  /** Of git, 40 hexadecimal digits. */
  readonly commit: string;
  /** URI of who builds, as verifiers compare it. */
  readonly builderId: string;
  readonly parameters: Readonly<Record<string, string | boolean>>;
}

/** `node scripts/release/build.ts` in a checkout of the commit; its parameters are those of `npm run release`. */
const BUILD_TYPE = 'urn:svault:release:1';

/**
 * An in-toto statement with SLSA's provenance, version 1 (https://slsa.dev/spec/v1.0/provenance), unsigned.
 * @param subjects path → SHA-256, hexadecimal
 */
export function provenanceOf(build: Build, subjects: ReadonlyMap<string, string>): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...subjects].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: build.parameters,
        resolvedDependencies: [
          {
            ...(build.repository !== undefined && { uri: `git+${build.repository}` }),
            name: 'source',
            digest: { gitCommit: build.commit },
          },
        ],
      },
      runDetails: { builder: { id: build.builderId } },
    },
  };
}
