// What a head that is switched off costs: texts that were answered rightly with it and are not without it.

/**
 * Text by text: one that is new does not make up for one that is lost.
 * @param {readonly boolean[]} whole Whether each text is answered rightly with all heads. @param {readonly boolean[]} without And without one.
 * @returns {{ right: number, lost: number, share: number }} Texts right without it, texts lost, and the lost ones' share of those
 *   that all heads have right, from 0 to 1; 0 where they have none.
 */
export function loss(whole, without) {
  const had = whole.filter(Boolean).length;
  const lost = whole.filter((isRight, place) => isRight && !without[place]).length;
  return { right: without.filter(Boolean).length, lost, share: had === 0 ? 0 : lost / had };
}
