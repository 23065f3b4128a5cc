/**
 * What the pipeline does with the artefacts, as commands.
 * @param out the folder of the release
 * @param files of it, relative to it
 */
export function nextSteps(version: string, out: string, files: readonly string[]): string {
  const under = (folder: string): readonly string[] => files.filter((path) => path.startsWith(`${folder}/`));
  const images = ['control-plane', 'webhook', 'setup'];
  const assets = [...under('single-file'), ...under('sbom')];
  return [
    'Nothing was published. The release pipeline would now run:',
    `git tag --sign v${version} && git push origin v${version}`,
    ...images.map(
      (name) =>
        `SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) docker buildx build --provenance=mode=max --output type=image,name=REGISTRY/svault-${name}:${version},push=true,rewrite-timestamp=true -f compose/${name}.Dockerfile .`,
    ),
    `cd ${out}`,
    'cosign sign-blob --yes --bundle SHA256SUMS.sigstore.json SHA256SUMS',
    'npx @sigstore/cli attest provenance.intoto.json --output-file provenance.sigstore.json',
    ...under('npm').map((path) => `npm publish --provenance --access public ./${path}`),
    ...images.flatMap((name) => [
      `cosign sign --yes REGISTRY/svault-${name}@DIGEST`,
      `cosign attest --yes --type cyclonedx --predicate sbom/svault-${name}-image.cdx.json REGISTRY/svault-${name}@DIGEST`,
    ]),
    `gh release create v${version} SHA256SUMS* provenance.* ${assets.join(' ')}`,
  ].join('\n');
}
