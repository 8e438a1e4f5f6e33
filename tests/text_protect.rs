//! What is copied byte for byte: each kind, its exact range, and what only looks like it.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use multihead::text::protect::{ProtectedKind, ProtectedKind::*, is_untranslatable, spans};
use proptest::prelude::*;

/// `text` with `⟦…⟧` around what must be found, all of it of `kind`.
#[track_caller]
fn check(kind: ProtectedKind, marked: &str) {
    let text = marked.replace(['⟦', '⟧'], "");
    let found = spans(&text);
    let mut shown = String::new();
    let mut at = 0;
    for span in &found {
        shown.push_str(&text[at..span.range.start]);
        shown.push('⟦');
        shown.push_str(&text[span.range.clone()]);
        shown.push('⟧');
        at = span.range.end;
    }
    shown.push_str(&text[at..]);
    assert_eq!(shown, marked, "{found:?}");
    assert!(found.iter().all(|span| span.kind == kind), "{marked}: {found:?}");
}

#[test]
fn urls() {
    for marked in [
        "See ⟦https://example.com/a_(b)?q=1&r=2#top⟧.",
        "(⟦http://example.com/x⟧), then ⟦ftp://files.example.org⟧!",
        "Go to ⟦www.example.com⟧, or “⟦example.com/path⟧”.",
        "⟦https://en.wikipedia.org/wiki/Mercury_(planet)⟧",
        "⟦mailto:a@b.org⟧ and ⟦tel:+351912345678⟧",
        "请看⟦https://example.com/a⟧。谢谢",
        "the ⟦bbc.co.uk⟧ site, ⟦example.com:8080⟧ and ⟦github.com⟧.",
        "<⟦https://example.com/⟧> \"⟦https://example.com⟧\"",
        "⟦HTTPS://EXAMPLE.COM/A⟧ and ⟦WWW.EXAMPLE.COM⟧",
    ] {
        check(Url, marked);
    }
}

#[test]
fn where_links_lead() {
    for marked in [
        "See the [guide⟦](https://example.com/a_(b)/c)⟧ or [this⟦](#top)⟧.",
        "![A cat⟦](images/cat.png \"On a chair\")⟧",
        "[x] (not a link), [y]() and [z](some words) and [w](a",
    ] {
        check(Link, marked);
    }
}

#[test]
fn no_urls() {
    for text in [
        "It ended.It was over.",
        "e.g. this",
        "a.m. and p.m.",
        "data: see below",
        "He said:so",
        "and so on...com",
        "Dr.No was a film.",
        "U.S.A. is",
        "Oi.Tudo bem?",
    ] {
        check(Url, text);
    }
}

#[test]
fn addresses_and_mentions() {
    check(Email, "Write to ⟦first.last+tag@example.co.uk⟧.");
    check(Email, "<⟦a_b@x-y.org⟧>, 联系⟦me@example.com⟧");
    check(Email, "no@body at home@ @ x@y");
    check(Mention, "Ask ⟦@some_one⟧, ⟦@x.y⟧. About ⟦#música⟧ or ⟦#100days⟧!");
}

#[test]
fn placeholders() {
    for marked in [
        "Hello ⟦{name}⟧, you have ⟦{0}⟧ of ⟦{{ user.count }}⟧; ⟦{}⟧ ⟦{{x}}⟧",
        "⟦${x}⟧ and ⟦$user_name⟧ and ⟦#{x.y}⟧",
        "⟦%s⟧: ⟦%d⟧ of ⟦%1$s⟧, ⟦%(name)s⟧, ⟦%.2f⟧, ⟦%-5d⟧, ⟦%@⟧ ⟦%ld⟧ ⟦%{x}⟧ ⟦%dpx⟧"
            .replace("px⟧", "⟧px")
            .as_str(),
        "⟦%PATH%⟧ is set",
        "⟦{count, plural, one {# file} other {# files}}⟧ left",
        "⟦{% if x %}⟧yes⟦{% endif %}⟧",
        "Click ⟦<0>⟧here⟦</0>⟧ or ⟦<br/>⟧ ⟦<a href=\"x y\">⟧there⟦</a>⟧⟦<x id=\"1\"/>⟧",
        "Tom ⟦&amp;⟧ Jerry ⟦&#8211;⟧ ⟦&#x2014;⟧",
        "⟦{0, number}⟧ ⟦{x | upper}⟧ ⟦{user.name!}⟧",
    ] {
        check(Placeholder, marked);
    }
    for text in [
        "see {the appendix for more}",
        "a < b and c > d",
        "x <y and z> w",
        "save % off",
        "A & B; C",
        "{\nname}",
        "${",
        "%",
        "{",
        "<",
        "&",
        "a %discount here",
        "costs US$ or R$",
        "<>",
    ] {
        check(Placeholder, text);
    }
}

#[test]
fn code() {
    for marked in [
        "Run ⟦`rm -rf x. Y`⟧ now",
        "⟦``a ` b``⟧ and ⟦```\nlet x = 1;\n\ny\n```⟧ end",
        "call ⟦foo_bar⟧, ⟦foo()⟧, ⟦std::mem::swap()⟧ with ⟦--dry-run⟧",
        "commit ⟦a1b2c3d⟧ or ⟦550e8400-e29b-41d4-a716-446655440000⟧",
    ] {
        check(Code, marked);
    }
    for text in
        ["a ` b", "`a\nb`", "```\nnot closed", "dead beef", "-- he said", "a--b", "it's ``so''"]
    {
        check(Code, text);
    }
}

#[test]
fn paths() {
    for marked in [
        "in ⟦/usr/local/bin⟧, ⟦~/notes.txt⟧, ⟦./run⟧ and ⟦../x/y⟧.",
        "open ⟦C:\\Users\\me\\file.txt⟧ or ⟦\\\\server\\share⟧",
        "edit ⟦src/main.rs⟧, ⟦report.pdf⟧ and ⟦IMAGE.PNG⟧.",
    ] {
        check(Path, marked);
    }
    for text in ["and/or", "he / she", "/ alone", "/s", "km/h", "the end.Go on", "c:", "w/o"] {
        check(Path, text);
    }
}

#[test]
fn numbers() {
    for marked in [
        "⟦1,000.50⟧ or ⟦1.000,50⟧ or ⟦1 000 000⟧ or ⟦1'000⟧",
        "⟦3-4⟧ at ⟦10:30⟧ on ⟦12/05/2024⟧, ⟦2020–2021⟧",
        "call ⟦+351 912 345 678⟧ or ⟦+1 (555) 123-4567⟧.",
        "⟦-5⟧ to ⟦+10⟧, ⟦50%⟧, ⟦$1,234.56⟧, ⟦-$5⟧, ⟦€20⟧, ⟦20€⟧, ⟦37.5°⟧C",
        "version ⟦1.2.3⟧ at ⟦192.168.0.1⟧, ⟦1.5e-3⟧, ⟦0x1F⟧",
        "in ⟦1999⟧. Then ⟦2000⟧, ⟦2001⟧; (⟦42⟧)",
        "the ⟦5⟧th and ⟦10⟧km, B⟦2⟧B, ⟦½⟧ cup, ⟦١٢٣⟧, ⟦１２⟧",
        "page ⟦12⟧ ⟦34⟧ is",
        "#⟦5⟧".replace("#⟦", "⟦#").as_str(),
        "⟦.5⟧ of it; x-⟦1⟧",
    ] {
        check(Number, marked);
    }
    for text in ["- no", "+ x", "one", "a.b", "…"] {
        check(Number, text);
    }
}

#[test]
fn emoji_and_symbols() {
    for marked in [
        "⟦👍🏽⟧ ok ⟦👩‍👩‍👧‍👦⟧⟦🏳️‍🌈⟧⟦🇵🇹⟧⟦🇧🇷⟧ end ⟦❤️⟧ ⟦✅⟧",
        "press ⟦1️⃣⟧ or ⟦#️⃣⟧ ⟦🏴󠁧󠁢󠁥󠁮󠁧󠁿⟧",
        "good ⟦:smile:⟧ and ⟦:+1:⟧",
        "⟦☕⟧⟦✨⟧",
    ] {
        check(Emoji, marked);
    }
    check(Symbol, "a ⟦→⟧ b ⟦≤⟧ c, ⟦←→⟧ ⟦©⟧ 'x' ⟦•⟧ item");
    check(Symbol, "a + b = c * d, «quoted» – dash… ¿qué? ª º ñ");
    check(Emoji, "at ten:thirty: go; a:b:c");
}

#[test]
fn nothing_to_translate() {
    for text in [
        "",
        " ",
        "\n\t ",
        "\0\u{1}\u{7f}",
        "...",
        "42",
        " +351 912 345 678 ",
        "→",
        "👍🏽",
        "—",
        "{name}",
        "%s",
        "https://example.com",
        "a@b.org",
        "`let x = 1;`",
        "{0}: 50% – https://x.org/y!",
        "\u{200b}\u{feff}",
        "/usr/bin",
        "<br/>",
        "1.000,50 €",
        "#topic",
        "(2020–2021)",
        "★★★☆☆",
        "$5",
        "&nbsp;",
    ] {
        assert!(is_untranslatable(text), "{text:?}: {:?}", spans(text));
    }
    for text in [
        "a",
        "Hello",
        "é",
        "42 km",
        "見",
        "{name} said",
        "See https://example.com",
        "5th",
        "مرحبا",
        "Ω",
        "e.g.",
    ] {
        assert!(!is_untranslatable(text), "{text:?}: {:?}", spans(text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spans_are_ordered_and_at_boundaries(text in "\\PC{0,60}|[a-z0-9@.:/#%${}<>`&_ \\n+()\u{1f1e6}\u{200d}\u{fe0f}👍🏽-]{0,60}") {
        let mut end = 0;
        for span in spans(&text) {
            prop_assert!(span.range.start >= end && span.range.end > span.range.start);
            prop_assert!(text.get(span.range.clone()).is_some());
            end = span.range.end;
        }
    }
}

#[test]
fn long_text_takes_linear_time() {
    for unit in [
        "a", "a.", "a.b@", "`", "` `` ", "{", "{a", "<a ", "%", "1 ", "1.", "#", "/a", "\\", "👍",
        "\u{200d}", "a_", "&a", ":a", "+1(", "http://", "e\u{301}", ")", "](", "](a",
    ] {
        let text = unit.repeat((1 << 19) / unit.len());
        for text in [format!("http://a{text}"), text] {
            let spans = spans(&text);
            assert!(spans.len() <= text.len());
        }
    }
}

#[test]
fn the_first_letter_answers_however_long_the_text_is() {
    // Letters joined to one cluster. It is cut into windows, and each asks this of all that follows.
    let text = "a\u{200d}".repeat(500_000);
    for start in (0..text.len()).step_by(400) {
        assert!(!is_untranslatable(&text[start..]));
    }
}
