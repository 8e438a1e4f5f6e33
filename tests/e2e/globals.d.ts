// What the tests leave on the global scope of their pages.

import type * as multiheadPackage from '../../pkg/dist/index.js';

declare global {
  /** The package. */
  var multihead: typeof multiheadPackage;
  /** Lengths of the translation as it grew. */
  var seenLengths: number[];
  /** Sum of the layout shifts. */
  var layoutShift: number;
}
