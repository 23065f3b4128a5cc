/** The flag of an option as commander names it: `allowHost` is `--allow-host`. */
export const flagOf = (option: string): string =>
  `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
