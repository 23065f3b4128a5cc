import { Enums, Models, Serialize, Spec, SPDX, Validation } from '@cyclonedx/cyclonedx-library';
import type { Component } from './components.ts';

/** What a bill of materials is about. */
interface Subject {
  readonly name: string;
  readonly version: string;
  readonly type: 'npm' | 'oci' | 'file';
}

/**
 * A software bill of materials in CycloneDX 1.6: the packages whose code is in an artefact or is installed with it. The same for the
 * same components: it has neither a time nor a serial number.
 *
 * @returns JSON
 * @throws Error where it does not conform to the schema of CycloneDX
 */
export async function sbomOf(subject: Subject, components: readonly Component[]): Promise<string> {
  const bom = new Models.Bom();
  const ref = subject.type === 'npm' ? purlOf(subject) : `${subject.name}@${subject.version}`;
  const type = subject.type === 'oci' ? Enums.ComponentType.Container : Enums.ComponentType.Application;
  const main = new Models.Component(type, subject.name, {
    version: subject.version,
    bomRef: ref,
    ...(subject.type === 'npm' && { purl: ref }),
  });
  main.licenses.add(new Models.SpdxLicense('Apache-2.0'));
  bom.metadata.component = main;
  for (const each of components) {
    const component = componentOf(each);
    bom.components.add(component);
    main.dependencies.add(component.bomRef);
  }
  const normalize = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  const text = new Serialize.JsonSerializer(normalize).serialize(bom, { sortLists: true, space: 2 });
  const problem: unknown = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text);
  if (problem !== null)
    throw new Error(`the SBOM of ${subject.name} is not valid: ${JSON.stringify(problem)}`);
  return `${text}\n`;
}

function componentOf({ name, version, license, sha512 }: Component): Models.Component {
  const purl = purlOf({ name, version });
  const component = new Models.Component(Enums.ComponentType.Library, name, { version, purl, bomRef: purl });
  component.licenses.add(
    SPDX.isSupportedSpdxId(license) ? new Models.SpdxLicense(license) : new Models.LicenseExpression(license),
  );
  if (sha512 !== undefined) component.hashes.set(Enums.HashAlgorithm['SHA-512'], sha512);
  return component;
}

/** The package URL of a package of npm. */
function purlOf({ name, version }: { readonly name: string; readonly version: string }): string {
  return `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
}
