//! Sentence segmentation: where sentences end, and that nothing is lost.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use multihead::text::segment::{SegmentKind::*, SplitRank, segments, segments_in, split_points};
use proptest::prelude::*;

/// `marked` has a `|` between sentences, before the white space; the rest is the text.
#[track_caller]
fn check_in(language: Option<&str>, marked: &str) {
    let text = marked.replace('|', "");
    let list = segments_in(&text, language);
    let joined: String = list.iter().map(|segment| &text[segment.range.clone()]).collect();
    assert_eq!(joined, text);
    let sentences = list.iter().filter(|segment| segment.kind == Sentence);
    let got: Vec<&str> = sentences.map(|segment| &text[segment.range.clone()]).collect();
    let want: Vec<&str> =
        marked.split(['|', '\n']).map(str::trim).filter(|x| !x.is_empty()).collect();
    assert_eq!(got, want, "{language:?}");
}

#[track_caller]
fn check(marked: &str) {
    check_in(None, marked);
}

#[test]
fn plain_sentences() {
    check("Hello world.| How are you?| Fine!| Well… | Yes.");
    check("One.|  Two.|\tThree.");
    check("What?!| No...| Stop!!!| End");
    check("Just one sentence without an end");
    check("Name|\tWhere they live|\t\tAge");
    check("  indented.| And more.  ");
    check("He left.| 25 people came.| ¿Qué?| ¡No!| Bien.");
}

#[test]
fn abbreviations_and_initials() {
    for text in [
        "Dr. Smith met Mrs. Jones and Prof. Lee.",
        "Use tools, e.g. Hammers, i.e. Things you hit with.",
        "J. R. R. Tolkien and George W. Bush met Samuel L. Jackson.",
        "Dr. A. Silva chegou com a Sra. M. Costa.",
        "The U.S. President and the U.K. Parliament agree.",
        "See fig. 3, No. 5, pp. 10 and vol. II of it.",
        "He arrived on Jan. 5 and left on Sept. 10.",
        "O Sr. João e a Dra. Ana moram na Av. Paulista, n.º 5.",
        "Há frutas, p. ex. Maçãs e peras.",
        "El Sr. García y la Dra. Pérez viven aquí.",
        "M. Dupont et Mme. Durand arrivent.",
        "Das ist z. B. Peter und d. h. Paul.",
        "Il Sig. Rossi e il Dott. Bianchi.",
        "Apple Inc. CEO Tim Cook and J. P. Morgan & Co. Bankers.",
        "Smith et al. (2020) said so, cf. Jones.",
        "Mr. and Mrs. Smith at St. Mary's.",
    ] {
        check(text);
    }
    check("He works at Apple Inc.| The company is big.");
    check("It happened in the U.S.| He was there.");
    check("Bring pens, paper, etc.| Maria has the rest.");
    check("We met at 5 p.m.| Then we left.");
    check("It has vitamin C.| The rest is water.");
    check("She said no.| Then she left.| It is art.| Really.");
    check("There were ten.| She left.| I am.| He is.");
    check("Vive nos E.U.A.| Ele gosta.| Foi ao mar.| Voltou.");
    check("Smith et al.| The results follow.");
}

#[test]
fn numbers_and_addresses() {
    check("Pi is 3.14 and 1.000,50 is more.| At 10.30 it ended.");
    check("It was 1999.| Then came 2000.");
    check("See https://example.com/a.b?c=d. E for it.".replace(". E", ".| E").as_str());
    check("Write to a.b@example.com.| Or visit www.example.com.| Done.");
    check(
        "Run `a. B. C`.| Then {name. X} and v1.2.3 of Node.js.| Good."
            .replace("{name. X}", "it")
            .as_str(),
    );
    check("The file is in C:\\a.b\\c.txt.| Open it.");
    check("Version 2.0.| New features.");
}

#[test]
fn quotes_and_brackets() {
    check("He said \"Stop.\"| Then he left.");
    check("\"Really?\" he asked.| \"Yes!\" she said.");
    check("“I am here. ”| Go.".replace(". ”", ".”").as_str());
    check("(This is one.)| This is two.| [Three.]| Four.");
    check("It works (see the note. It is long.) and ends.| Next.");
    check("« Bonjour ! »| Il partit.| « Oui. »| Fin.");
    check("„Komm.“| Er ging.| »Nein.«| Sie blieb.");
    check("It is so.[1]| More follows.[2][3]| End.");
    check("**Bold.**| Next _one._| Last.");
    check("He left (at last!).| She stayed.");
}

#[test]
fn lower_case_goes_on() {
    check("Wait... what is this?| yahoo".replace("?| y", "? y").as_str());
    check("Yahoo! is a company.| Who? me? yes.");
    check("It ended.| iPhone sales grew.");
    check("the approx. value and the min. one.");
}

#[test]
fn other_scripts() {
    check("今日は晴れです。|明日は雨ですか？|はい！|そうです");
    check("「何ですか？」と言った。|次。");
    check("你好。|我很好！|你呢？|“好。”|他说。");
    check("价格是3.14元。|好的");
    check("مرحبا بالعالم.| كيف حالك؟| أنا بخير.");
    check("यह एक वाक्य है।| यह दूसरा है।");
    check("Это предложение.| А это другое!| Да.");
    check("好吗?|好!|是");
    check("한국어 문장입니다.| 두 번째 문장.");
    check("値段は３．５円です。|安い");
}

#[test]
fn lists_lines_and_paragraphs() {
    check("1. First item.\n2. Second item.| With more.\n  a. Third\n  iv. Fourth\nA) Fifth");
    check("A heading\n\nA paragraph.| Two sentences.\n\n\n    Indented.\r\nWindows.\r\n");
    check("1.2.3 Section title\n3. Oktober war es.");
    check("\n\n");
    check("");
    check("   ");
    let kinds: Vec<_> = segments("\n a.\n\n B. ").into_iter().map(|s| (s.range, s.kind)).collect();
    assert_eq!(kinds, [(0..2, Gap), (2..4, Sentence), (4..7, Gap), (7..9, Sentence), (9..10, Gap)]);
}

#[test]
fn one_language() {
    check_in(Some("de"), "Am 3. Oktober und im 19. Jahrhundert.| Der 5. Mann, Nr. 7.");
    check_in(Some("en"), "He is no. 5.| Max.| The end.");
    check_in(Some("pt-BR"), "A Ltda. Silva fica na pág. 5.| Ele viu.");
    check_in(Some("xx"), "Dr. Smith.| Sra. Silva.");
}

/// Text out of the pieces that matter here.
fn text() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        ".",
        "!",
        "?",
        "…",
        "。",
        "？",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\u{2028}",
        "\t",
        "\u{a0}",
        "a",
        "B",
        "Dr",
        "e.g",
        "U.S",
        "1",
        "3.14",
        "(",
        ")",
        "\"",
        "”",
        "「",
        "」",
        "[1]",
        "https://x.org/a. b",
        "`a. B`",
        "👍🏽",
        "e\u{301}",
        "中",
        "\u{200b}",
        "\0",
        "{x}",
        "é",
        ",",
        "-",
    ]);
    prop_oneof![
        prop::collection::vec(parts, 0..40).prop_map(|parts| parts.concat()),
        any::<String>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost(text in text()) {
        let mut end = 0;
        let mut last = None;
        for segment in segments(&text) {
            prop_assert_eq!(segment.range.start, end);
            prop_assert!(!segment.range.is_empty());
            let held = &text[segment.range.clone()];
            match segment.kind {
                Sentence => prop_assert_eq!(held, held.trim()),
                Gap => {
                    prop_assert_eq!(held.trim(), "");
                    prop_assert_ne!(last, Some(Gap));
                }
            }
            last = Some(segment.kind);
            end = segment.range.end;
        }
        prop_assert_eq!(end, text.len());
    }

    #[test]
    fn a_sentence_alone_is_one_sentence(text in text()) {
        for segment in segments(&text) {
            if segment.kind == Sentence {
                let alone = segments(&text[segment.range.clone()]);
                prop_assert!(!alone.is_empty());
            }
        }
    }

    #[test]
    fn split_points_are_within_and_ascend(text in text()) {
        let mut last = 0;
        for point in split_points(&text, 0..text.len()) {
            prop_assert!(point.at > last && point.at < text.len());
            prop_assert!(text.is_char_boundary(point.at));
            last = point.at;
        }
    }
}

#[test]
fn split_points_know_good_places() {
    let text = "One, two; three (four) a.b https://x.org/a,b 1,000 👩‍👩‍👧 e\u{301}x";
    let points = split_points(text, 0..text.len());
    let rank = |before: &str| {
        let at = text.find(before).unwrap() + before.len();
        points.iter().find(|point| point.at == at).map(|point| point.rank)
    };
    assert_eq!(rank("One,"), Some(SplitRank::Phrase));
    assert_eq!(rank("two;"), Some(SplitRank::Clause));
    assert_eq!(rank("(four)"), Some(SplitRank::Phrase));
    assert_eq!(rank("three"), Some(SplitRank::Space));
    assert_eq!(rank("thr"), Some(SplitRank::Character));
    assert_eq!(rank("https:"), None);
    assert_eq!(rank("/a,b"), Some(SplitRank::Space));
    assert_eq!(rank("1,"), None);
    assert_eq!(rank("👩"), None);
    assert_eq!(rank(" e"), None);
    assert_eq!(rank("e\u{301}"), Some(SplitRank::Character));
    assert!(SplitRank::Clause > SplitRank::Phrase && SplitRank::Space > SplitRank::Character);
    assert_eq!(split_points(text, 4..4), []);
    assert!(
        split_points("中文，没有空格", 0..21).iter().any(|point| point.rank == SplitRank::Phrase)
    );
}

#[test]
fn long_text_takes_linear_time() {
    for unit in [
        "a. ",
        ".",
        "(",
        "( ",
        "A. ",
        "a",
        "\n",
        " ",
        "「",
        "[1]",
        "1. ",
        "The end. ",
        "。",
        "» ",
        "... ",
        "](",
    ] {
        let text = unit.repeat((1 << 19) / unit.len());
        let end = segments(&text).last().unwrap().range.end;
        assert_eq!(end, text.len());
        split_points(&text, 0..text.len());
    }
}
