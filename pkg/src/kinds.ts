// What the kinds of models differ in before they are loaded: which files they have, and what uses them.

import { isGguf } from './content.js';
import { MultiheadError } from './errors.js';
import type { Family } from './platform.js';
import { translationRoles } from './sources.js';

/** What a model is for; each kind has a family of workers and modules. */
export type ModelKind = Family;

/** A file, as far as it tells what it is. */
interface Named {
  name: string;
  role?: string;
}

/** The files by what they are to the model; a model of another kind is an error that says so. */
type Roles = <File extends Named>(id: string, files: readonly File[]) => Record<string, File>;

export const ROLES: Readonly<Record<ModelKind, Roles>> = {
  translation: (id, files) => {
    if (kindOf(files) !== 'translation') throw notFor(id, files, 'does not translate');
    return translationRoles(id, files);
  },
  text: textRoles,
  // By their paths; the part of the package that is about encoders has chosen them.
  encoder: (_, files) => Object.fromEntries(files.map((file) => [file.name, file])),
};

/** What a model of a kind is called, and what uses it. */
const NAMES: Readonly<Record<ModelKind | 'letters', readonly [name: string, uses: string]>> = {
  translation: ['a translation model', 'translate() or Translator'],
  text: ['a language model', 'generate() or LanguageModel'],
  encoder: ['an encoder', 'embed(), Embedder, classify(), tagTokens() or fillMask()'],
  letters: ['a model over letters', 'transliterate()'],
};

/** What the model of these files is called, and what uses it. */
export function namesOf(files: readonly Named[]): readonly [name: string, uses: string] {
  return NAMES[ofLetters(files) ? 'letters' : kindOf(files)];
}

/** Whether the names are those of a model over letters: two files, and an encoder has more. Its config.json knows better. */
export function ofLetters(files: readonly Named[]): boolean {
  return (
    files.length === 2 && files.every(({ name }) => /(^|\/)(config\.json|model\.safetensors)$/i.test(name))
  );
}

/** What the names of its files say of a model. */
export function kindOf(files: readonly Named[]): ModelKind {
  if (files.some(({ name }) => isGguf(name))) return 'text';
  // Names that files of encoders have, and of other kinds have not.
  return files.some(({ name }) => /(^|\/)(config\.json|tokenizer\.json|[^/]*\.safetensors)$/i.test(name))
    ? 'encoder'
    : 'translation';
}

/** The one file of a language model. */
function textRoles<File extends Named>(id: string, files: readonly File[]): { model: File } {
  const [model, second] = files.filter(({ name }) => isGguf(name));
  if (second !== undefined) {
    throw wrongKind(`${id} has several .gguf files, and a language model is one. Name one`);
  }
  // A single file of another name is what somebody gave for it; what it has will tell.
  if (model === undefined && kindOf(files) === 'encoder') {
    throw notFor(id, files, 'writes no text');
  }
  const chosen = model ?? (files.length === 1 ? files[0] : undefined);
  if (chosen !== undefined) return { model: chosen };
  throw wrongKind(
    `${id}: a language model is a .gguf file; there: ${files.map(({ name }) => name).join(', ')}. To translate, use translate()`,
  );
}

/** A model of another kind than the call's, which it `cannot`; it says what uses it. */
export function notFor(id: string, files: readonly Named[], cannot: string): MultiheadError {
  return wrongKind(`${id} is ${namesOf(files).join(`, and ${cannot}. Use `)}`);
}

/** A model of another kind than the call's. */
function wrongKind(message: string): MultiheadError {
  return new MultiheadError(message, { code: 'model-unsupported', option: 'model' });
}
