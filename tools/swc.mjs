// What TypeScript becomes in tests and in their programs: the types are left out, and checked elsewhere (`npm run check`).

/** Options of swc: https://swc.rs/docs/configuration/compilation */
export const SWC = {
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: {
      legacyDecorator: true,
      decoratorMetadata: true,
      react: { pragma: 'h', pragmaFrag: 'Fragment' },
    },
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};
