//! Words that end with a stop without ending a sentence, by language.
//!
//! In small letters, without the last stop. Each list has three parts: words that something always follows,
//! words that a number follows, and words that may as well end a sentence.

use std::{collections::HashMap, sync::OnceLock};

/// Abbreviations of one language.
struct Language {
    code: &'static str,
    /// Titles and the like: never at the end of a sentence.
    leading: &'static str,
    /// Before a number no end; else read as `final`.
    numeric: &'static str,
    /// An end only if the next word starts sentences.
    ending: &'static str,
    /// Words that start a sentence more often than they continue one after an abbreviation.
    starters: &'static str,
}

/// Common to all languages: Latin, titles, units, companies.
const COMMON: Language = Language {
    code: "",
    leading: "dr prof mr mrs ms vs cf e.g i.e eg ie ca viz ibid op cit et ed eds ex h.c mag dipl ing gen col maj capt lt \
        sgt cmdr adm gov sen rep rev hon ph msgr fr mme mlle bros mt ft vol vols",
    numeric: "no nos nr nº p pp pg pag art arts fig figs sec ch cap v vv n tab eq abs abb tel ext",
    ending: "st al inc ltd co corp llc plc jr sr esq dept univ a.m p.m am pm u.s u.s.a u.k u.n e.u d.c b.c a.d ph.d m.d b.a m.a \
        est approx",
    starters: "",
};

const LANGUAGES: [Language; 6] = [
    Language {
        code: "en",
        leading: "messrs mmes supt det asst assoc atty pres insp brig cpl pvt",
        numeric: "jan feb mar apr jun jul aug sep sept oct nov dec para chap pt bk",
        ending: "ave blvd rd sq mon tue tues wed thu thurs fri sat sun min max avg misc tbsp tsp oz lb lbs mi yd cont govt",
        starters: "the a an he she it they we i you this that these those there here his her its their our my your in on at \
            by for from with as if when while where what who why how but and so or yet however although though after \
            before since during then now no not some many most all each every one two both another such",
    },
    Language {
        code: "pt",
        leading: "sra srta srs dra dras drs profa exmo exma ilmo ilma eng arq adv d v.exa v.sa exa s.exa gal ten cel cap maj sto sta \
            fr pe av trav pç pça p.ex ex p.e i.e q.b",
        numeric: "jan fev mar abr mai jun jul ago set out nov dez págs pág fls fl inc núm num séc séculos cód proc lei dec",
        ending: "ltda cia s.a e.u.a eua a.c d.c dept depto gov jr min máx aprox obs trad org orgs tel telef seg ter qua qui sex",
        starters: "o a os as um uma uns umas ele ela eles elas eu nós você vocês isto isso esta este estas estes essa esse em no \
            na nos nas de do da dos das por pelo pela com para como quando onde se que mas e ou porém entretanto contudo \
            também já não há foi é são era seu sua seus suas após depois antes durante segundo até então assim ao à",
    },
    Language {
        code: "es",
        leading: "sr sra srta sres dra profa d dña ud uds vd vds excmo excma ilmo lic ing arq gral cnel cap tte sto sta av avda \
            c p.ej ej p.e i.e",
        numeric: "ene feb mar abr may jun jul ago sep sept oct nov dic pág págs núm cap párr s ss",
        ending: "s.a s.l ee.uu a.c d.c aprox máx mín depto dpto tel admón cía ltda",
        starters: "el la los las un una unos unas él ella ellos ellas yo nosotros esto eso esta este estas estos ese esa en de \
            del por con para como cuando donde si que pero y o sin embargo también ya no hay fue es son era su sus tras \
            después antes durante según hasta entonces así al lo se",
    },
    Language {
        code: "fr",
        leading: "m mm mme mmes mlle mlles dr drs pr me mgr st ste sts bd av p.ex ex c.-à-d env",
        numeric: "janv févr avr juil sept oct nov déc chap art fig n°",
        ending: "s.a s.a.r.l cie av.j.-c ap.j.-c j.-c tél apr",
        starters: "le la les un une des il elle ils elles je nous vous on ce cet cette ces cela ça dans en de du au aux par pour \
            avec sans sur sous comme quand où si que mais et ou donc car ainsi aussi puis alors son sa ses leur leurs \
            après avant depuis pendant selon",
    },
    Language {
        code: "de",
        leading: "hr hrn fr frl dr prof dipl ing hl st z.b zb d.h dh u.a ua z.t zt i.d.r o.ä bzw ca vgl s.o s.u sog evtl ggf inkl exkl \
            zzgl bspw insb max min mind geb gest verh str",
        numeric: "jan feb mär märz apr jun jul aug sep sept okt nov dez nr bd bde kap abs s ziff art rn",
        ending: "v.chr n.chr chr gmbh e.v ag kg co tel jh jhd",
        starters: "der die das ein eine einen er sie es wir ihr ich du man dies diese dieser dieses in im an am auf aus bei mit \
            nach von vom vor zu zum zur für durch um als wenn wo was wer wie warum aber und oder doch jedoch denn so dann \
            nun hier dort auch noch nicht kein keine sein seine seinen ihre nachdem während seit",
    },
    Language {
        code: "it",
        leading: "sig sig.ra sigg dott dott.ssa prof prof.ssa ing avv arch geom on mons don gen col ten cap s ss v p.es es",
        numeric: "gen feb mar apr mag giu lug ago sett ott nov dic pag pagg num cap art fig",
        ending: "s.p.a spa s.r.l srl a.c d.c tel ca",
        starters: "il lo la i gli le un uno una egli lui lei essa essi loro io noi voi questo questa questi quello quella in nel \
            nella di del della da dal dalla per con su sul sulla come quando dove se che ma e o però tuttavia anche già \
            non è sono era suo sua dopo prima durante secondo fino allora così al alla",
    },
];

/// Abbreviations that are plain words too; in small letters they are taken for these.
const PLAIN_WORDS: &str = "no art mar set out abs cap dec ago may mai sept sec ch pp ten don gal max min col fr mag gen ex ing \
    ed adv am sun sat wed sex seg ter qui ca str fig mon ms as an s.o sog in mio med tab ext dept est val mm m d e";

/// In which languages a word has which use: one bit each, [`COMMON`] the last.
#[derive(Clone, Copy, Default)]
struct Uses {
    leading: u8,
    numeric: u8,
    ending: u8,
    starter: u8,
    plain: bool,
}

/// All lists, by word.
fn table() -> &'static HashMap<&'static str, Uses> {
    static TABLE: OnceLock<HashMap<&'static str, Uses>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: HashMap<&'static str, Uses> = HashMap::new();
        for (index, language) in LANGUAGES.iter().chain([&COMMON]).enumerate() {
            let bit = 1 << index;
            let mut add = |list: &'static str, mark: fn(&mut Uses) -> &mut u8| {
                for word in list.split_whitespace() {
                    *mark(table.entry(word).or_default()) |= bit;
                }
            };
            add(language.leading, |uses| &mut uses.leading);
            add(language.numeric, |uses| &mut uses.numeric);
            add(language.ending, |uses| &mut uses.ending);
            add(language.starters, |uses| &mut uses.starter);
        }
        for word in PLAIN_WORDS.split_whitespace() {
            table.entry(word).or_default().plain = true;
        }
        table
    })
}

/// The lists of one language or of all.
pub(super) struct Abbreviations {
    /// Bits of the languages that count.
    languages: u8,
    /// German writes ordinals as numbers with a stop.
    pub ordinal_stop: bool,
}

/// How a word with a stop stands to the end of a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Abbreviation {
    /// Never ends one.
    Leading,
    /// Ends none before a number.
    Numeric,
    /// Ends one if the next word starts sentences.
    Ending,
}

impl Abbreviations {
    pub fn of(language: Option<&str>) -> Self {
        let wanted = language.and_then(|tag| tag.split(['-', '_']).next()).unwrap_or_default();
        let one = LANGUAGES.iter().position(|known| known.code.eq_ignore_ascii_case(wanted));
        Self {
            languages: one.map_or(u8::MAX, |index| 1 << index | 1 << LANGUAGES.len()),
            ordinal_stop: wanted.eq_ignore_ascii_case("de"),
        }
    }

    /// What `word` is, given without its last stop.
    pub fn find(&self, word: &str) -> Option<Abbreviation> {
        let uses = self.uses(word)?;
        let plain = uses.plain && word.starts_with(char::is_lowercase);
        if uses.numeric & self.languages != 0 {
            Some(Abbreviation::Numeric)
        } else if plain {
            None
        } else if uses.leading & self.languages != 0 {
            Some(Abbreviation::Leading)
        } else {
            (uses.ending & self.languages != 0).then_some(Abbreviation::Ending)
        }
    }

    /// Whether `word` is as good a word as an abbreviation.
    pub fn is_plain(&self, word: &str) -> bool {
        word.starts_with(char::is_lowercase) && self.uses(word).is_some_and(|uses| uses.plain)
    }

    /// Whether `word`, written with a capital, rather starts a sentence than continues one.
    pub fn starts_sentence(&self, word: &str) -> bool {
        self.uses(word).is_some_and(|uses| uses.starter & self.languages != 0)
    }

    fn uses(&self, word: &str) -> Option<Uses> {
        // No listed word is longer.
        let word = Some(word).filter(|word| word.len() <= 16)?.to_lowercase();
        table().get(word.as_str()).copied()
    }
}
