// Texts to try, by language.

/** @type {Record<string, { name: string, text: string }[]>} */
const EXAMPLES = {
  en: [
    {
      name: 'A letter',
      text: 'Dear Ana,\n\nThe parcel arrived this morning, and nothing was broken. The children opened it before breakfast. Thank you for the books: we read the first one aloud last night, and nobody wanted to go to bed.\n\nWith love,\nTom',
    },
    {
      name: 'The news',
      text: 'Scientists say the glacier has lost a third of its ice in ten years. If nothing changes, it will be gone before 2050. The government plans to present new measures next week.',
    },
    {
      name: 'A sign',
      text: 'Please do not feed the ducks. Bread makes them ill.',
    },
    {
      name: 'Links and numbers',
      text: 'Write to help@example.org or see https://example.org/start?lang=en. Your order 20-4431 costs 1,299.50 euros.',
    },
  ],
  pt: [
    {
      name: 'Uma carta',
      text: 'Querida Ana,\n\nA encomenda chegou esta manhã e nada estava partido. As crianças abriram-na antes do pequeno-almoço. Obrigado pelos livros: lemos o primeiro em voz alta ontem à noite e ninguém queria ir para a cama.\n\nCom carinho,\nTomás',
    },
    {
      name: 'As notícias',
      text: 'Os cientistas dizem que o glaciar perdeu um terço do gelo em dez anos. Se nada mudar, desaparecerá antes de 2050. O governo vai apresentar novas medidas na próxima semana.',
    },
    {
      name: 'Um aviso',
      text: 'Por favor, não dê comida aos patos. O pão faz-lhes mal.',
    },
  ],
};

/** @param {string} language A BCP 47 tag. */
export function examplesFor(language) {
  return EXAMPLES[new Intl.Locale(language).language] ?? [];
}
