// Texts to search in, and what to look for in them: no word of a query occurs in the passage that it is about.
// The texts are the project's own.

/** @typedef {{ name: string, text: string }} Text */

const NOTICES = `# Lost, stolen, found

If your bike is missing, tell the police desk in Mill Lane the number on its frame. Half of those that were stolen last
year have turned up again.

Keys, gloves and umbrellas left on the bus wait at the depot for four weeks. After that they are sold for the choir.

# Water and weather

The mains will be shut off on Thursday between nine and noon while a pipe in Church Street is replaced. Fill a bucket the
evening before.

In frost the council grits the main road and the hill by the school first. Everybody sweeps before their own door.

# Health

Doctor Amaral sees patients without an appointment from eight to ten. At night ring the clinic in Alden, which sends an
ambulance.

The chemist by the bridge is open on Sundays. Have the prescription with you: nothing is handed out against a promise.

# Meetings

The council sits on the first Monday of the month. Whoever wants to be heard writes to the clerk a week ahead.
`;

const KITCHEN = `# Soups

An oversalted broth is not lost: a raw potato, cut in slices, draws some of it out. A splash of cream hides the rest.

Stock is made of bones that were roasted until brown. It simmers for half a day and never boils.

# Bread

Dough that does not rise has mostly been too cold. Put the bowl beside the stove, under a damp cloth, and give it another
hour.

A loaf is done when it sounds hollow as you knock on its bottom.

# Keeping things

Herbs stand in a glass like flowers, and last a week. Tomatoes stay out of the fridge, which takes their taste away.

Coffee stains go from a cup with baking soda and a wet finger.

# Guests

Ask beforehand who eats no meat and who cannot have nuts. A pot of lentils offends nobody.
`;

const RIVER = `# Along the river

The bend below the old mill is shallow, and children may bathe there: the current is slow, and it reaches to their knees.

Above the weir nobody should go in. Two grown men were pulled under there within one summer.

# Signs

When swallows fly low and the hills look nearer than they are, pack up: it will pour before evening.

A heron that stands still for a long time has seen a fish. Stand still as well, and you will see it strike.

# The way

The path by the meadows is dry from May on. Before that wear boots, or take the road.

The inn at the ferry closes in winter, and there is nothing to eat for the next ten miles. Carry bread and cheese.

# Night

Tents are allowed on the north bank only. Fires are not, since the wood burned.
`;

/** @type {readonly Text[]} */
export const EXAMPLES = [
  { name: 'Notices of a small town.md', text: NOTICES },
  { name: 'Kitchen notes.md', text: KITCHEN },
  { name: 'Walks by the river.md', text: RIVER },
];

/** What the page itself is made of, by its address from the page's. */
export const DOCS = ['docs/README.md', 'docs/ARCHITECTURE.md', 'pkg/README.md'];

/** What may be looked for, by where. @type {Readonly<Record<'examples' | 'docs', readonly string[]>>} */
export const QUERIES = {
  examples: ['somebody took my bicycle', 'spots on a mug', 'can I sleep outdoors', 'vegetarian meals'],
  docs: ['is my text sent to a server', 'what if memory runs out', 'work shared by several cores'],
};
