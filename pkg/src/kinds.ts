// What the kinds of models differ in before they are loaded: whose worker they run in, and which files they have.

import { isGguf } from './content.js';
import { MultiheadError } from './errors.js';
import type { Family } from './platform.js';
import { translationRoles } from './sources.js';

/** What a model is for. */
export type ModelKind = 'translation' | 'text';

/** A file, as far as it tells what it is. */
interface Named {
  name: string;
  role?: string;
}

interface KindFacts {
  family: Family;
  /** The files by what they are to the model; a model of another kind is an error that says so. */
  roles: <File extends Named>(id: string, files: readonly File[]) => Record<string, File>;
}

export const KINDS: Readonly<Record<ModelKind, KindFacts>> = {
  translation: {
    family: 'translation',
    roles: (id, files) => {
      if (kindOf(files) === 'text') {
        throw wrongKind(`${id} is a language model, and does not translate. Use generate() or LanguageModel`);
      }
      return translationRoles(id, files);
    },
  },
  text: { family: 'full', roles: textRoles },
};

/** What the names of its files say of a model. */
export function kindOf(files: readonly Named[]): ModelKind {
  return files.some(({ name }) => isGguf(name)) ? 'text' : 'translation';
}

/** The one file of a language model. */
function textRoles<File extends Named>(id: string, files: readonly File[]): { model: File } {
  const [model, second] = files.filter(({ name }) => isGguf(name));
  if (second !== undefined) {
    throw wrongKind(`${id} has several .gguf files, and a language model is one. Name the one to use`);
  }
  // A single file of another name is what somebody gave for it; what it has will tell.
  const chosen = model ?? (files.length === 1 ? files[0] : undefined);
  if (chosen !== undefined) return { model: chosen };
  throw wrongKind(
    `${id}: a language model is a .gguf file; there: ${files.map(({ name }) => name).join(', ')}. To translate, use translate()`,
  );
}

function wrongKind(message: string): MultiheadError {
  return new MultiheadError(message, { code: 'model-unsupported', option: 'model' });
}
