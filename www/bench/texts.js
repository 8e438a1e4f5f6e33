// What is translated: plain sentences of our own, and short phrases.

/** @typedef {{ sentences: string[], phrases: string[] }} Texts */

const EN = `
The bakery on the corner opens before the sun comes up.
My neighbour has painted her front door a very bright yellow.
We missed the last bus and walked home along the river.
The meeting was moved to Thursday because half of the team was ill.
Could you tell me where I can buy a ticket for the ferry?
Every spring the school plants a tree for each child who leaves.
The old clock in the hall has been ten minutes late for years.
She learned to swim when she was already forty years old.
The museum is closed on Mondays, but the garden is always open.
If it rains tomorrow, we will move the tables inside.
The engineer explained why the bridge moves a little in the wind.
Nobody expected that so many people would come to the first concert.
He wrote the letter twice and then decided not to send it.
The price of the apartment is higher than we can afford this year.
Please leave your shoes at the door and take a pair of slippers.
The doctor said that he should sleep more and worry less.
A small grey cat follows the postman through our street each morning.
The recipe needs three eggs, a cup of sugar and a little patience.
Our train stopped for an hour in the middle of a wheat field.
The library has lent out more books this summer than ever before.
They built the house themselves, with wood from the forest behind it.
I have been trying to reach the office since nine o'clock.
The new law will not change much for people who rent their homes.
When the lights went out, the children began to tell stories.
The farmers are worried, because there has been no snow this winter.
Her grandmother taught her how to mend almost anything with a needle.
The mayor promised that the market square would be free of cars by autumn.
It took them three days to cross the mountains with the two donkeys.
The water in the lake is so clear that you can see the stones at the bottom.
I would rather read the book first and see the film afterwards.
The shop sells radios, lamps and watches that nobody makes any more.
After the storm, the whole village helped to repair the roof of the church.
He plays the violin well, although he has never had a lesson.
The report shows that children who walk to school are more awake in class.
You can return the bicycle at any station in the city before midnight.
The ship that lies in the harbour tonight will leave for the islands at dawn.
Two of the windows do not close, so the house is cold in January.
The company answers every complaint within a week, or at least it tries to.
We found an old map in the attic, with names that no one uses today.
At the end of the day, the fishermen sit on the wall and talk about the weather.
`;

const EN_PHRASES = `
Good morning. | How are you? | Thank you very much. | See you tomorrow. | Where is the station? | Yes. | No problem.
Two coffees, please. | I don't know. | Happy birthday! | What time is it? | Not today. | Excuse me. | The bill, please.
Open the window. | It is raining. | Welcome home. | Help! | Turn left here. | My name is Tom.
`;

const PT = `
A padaria da esquina abre antes de o sol nascer.
A minha vizinha pintou a porta da frente de um amarelo muito vivo.
Perdemos o último autocarro e voltámos a pé para casa, ao longo do rio.
A reunião passou para quinta-feira porque metade da equipa estava doente.
Pode dizer-me onde posso comprar um bilhete para o barco?
Todas as primaveras a escola planta uma árvore por cada criança que sai.
O velho relógio da entrada anda dez minutos atrasado há anos.
Ela aprendeu a nadar quando já tinha quarenta anos.
O museu fecha à segunda-feira, mas o jardim está sempre aberto.
Se chover amanhã, levamos as mesas para dentro.
A engenheira explicou por que a ponte se mexe um pouco com o vento.
Ninguém esperava que viesse tanta gente ao primeiro concerto.
Ele escreveu a carta duas vezes e depois decidiu não a enviar.
O preço do apartamento é mais alto do que podemos pagar este ano.
Deixe os sapatos à porta, por favor, e leve um par de chinelos.
O médico disse que ele devia dormir mais e preocupar-se menos.
Um pequeno gato cinzento segue o carteiro pela nossa rua todas as manhãs.
A receita precisa de três ovos, uma chávena de açúcar e um pouco de paciência.
O nosso comboio parou uma hora no meio de um campo de trigo.
A biblioteca emprestou mais livros neste verão do que em qualquer outro.
Construíram a casa com as próprias mãos, com madeira da floresta que fica atrás.
Estou a tentar ligar para o escritório desde as nove horas.
A nova lei não muda muito para quem vive em casa arrendada.
Quando as luzes se apagaram, as crianças começaram a contar histórias.
Os agricultores estão preocupados, porque neste inverno não houve neve.
A avó ensinou-a a remendar quase tudo com uma agulha.
A presidente da câmara prometeu que a praça do mercado ficaria sem carros até ao outono.
Levaram três dias a atravessar as montanhas com os dois burros.
A água do lago é tão clara que se veem as pedras no fundo.
Prefiro ler primeiro o livro e ver o filme depois.
A loja vende rádios, candeeiros e relógios que já ninguém faz.
Depois da tempestade, toda a aldeia ajudou a reparar o telhado da igreja.
Ele toca bem violino, embora nunca tenha tido uma aula.
O relatório mostra que as crianças que vão a pé para a escola estão mais atentas nas aulas.
Pode devolver a bicicleta em qualquer estação da cidade antes da meia-noite.
O navio que está hoje no porto parte para as ilhas de madrugada.
Duas das janelas não fecham, por isso a casa é fria em janeiro.
A empresa responde a todas as queixas numa semana, ou pelo menos tenta.
Encontrámos no sótão um mapa antigo, com nomes que hoje ninguém usa.
Ao fim do dia, os pescadores sentam-se no muro e falam do tempo.
`;

const PT_PHRASES = `
Bom dia. | Como está? | Muito obrigada. | Até amanhã. | Onde fica a estação? | Sim. | Sem problema.
Dois cafés, por favor. | Não sei. | Feliz aniversário! | Que horas são? | Hoje não. | Com licença. | A conta, por favor.
Abre a janela. | Está a chover. | Bem-vindo a casa. | Socorro! | Vire aqui à esquerda. | Chamo-me Tomás.
`;

/** @param {string} text @param {RegExp} between @returns {string[]} */
const parts = (text, between) =>
  text
    .split(between)
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** @type {Record<string, Texts>} */
const TEXTS = {
  en: { sentences: parts(EN, /\n/u), phrases: parts(EN_PHRASES, /[|\n]/u) },
  pt: { sentences: parts(PT, /\n/u), phrases: parts(PT_PHRASES, /[|\n]/u) },
};

/** @param {string} language A BCP 47 tag. @returns {Texts | undefined} */
export function textsIn(language) {
  return TEXTS[new Intl.Locale(language).language];
}
