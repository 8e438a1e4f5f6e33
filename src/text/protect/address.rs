//! URLs, bare domains, e-mail addresses, mentions.

use super::{after, char_at, char_before, run_end};

/// Top-level domains that make `name.tld` a domain wherever it stands; in small letters only.
const CLEAR_DOMAINS: &str = "com org net edu gov mil int info biz dev app io ai xyz online site tech store cloud \
    museum jobs mobi name tv uk br pt fr jp cn kr ru pl cz dk fi gr hu ro sk ua tr mx ar cl za nz au ca";

/// Top-level domains that are words too: taken only where a path or a further label shows what they are.
const WORD_DOMAINS: &str = "de es it eu us me co in to so is be at no do se ch nl ie my la li";

/// A URL at `at`: with a scheme, `www.`, or a bare domain of a known kind.
pub(super) fn url(text: &str, at: usize) -> Option<usize> {
    let word = run_end(text, at, |c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if let Some(start) = after(text, word, "://") {
        return address_end(text, start).filter(|&end| end > start && word > at);
    }
    for scheme in ["mailto:", "tel:", "sms:", "data:", "urn:", "magnet:", "javascript:"] {
        let given = text.get(at..at + scheme.len());
        if given.is_some_and(|given| given.eq_ignore_ascii_case(scheme)) {
            let start = at + scheme.len();
            // `data: see below` is prose.
            return address_end(text, start).filter(|&end| end > start);
        }
    }
    let host_end =
        run_end(text, at, |c| c.is_alphanumeric() && !is_cjk(c) || matches!(c, '-' | '.'));
    let host = text.get(at..host_end)?.trim_end_matches(['.', '-']);
    let host_end = at + host.len();
    let labels: Vec<&str> = host.split('.').collect();
    let valid = labels.len() >= 2 && labels.iter().all(|label| !label.is_empty());
    if !valid {
        return None;
    }
    // `example.com/path`, `example.com:8080`, `example.com?query`.
    let next = char_at(text, host_end);
    let behind = char_at(text, host_end + 1);
    let continues = match next {
        Some('/') => true,
        Some(':') => behind.is_some_and(|c| c.is_ascii_digit()),
        Some('?' | '#') => behind.is_some_and(|c| c.is_ascii_alphanumeric()),
        _ => false,
    };
    let tld = labels.last()?;
    let lists = |list: &str| list.split_whitespace().any(|known| known == *tld);
    let prefixed = labels.first()?.eq_ignore_ascii_case("www") && labels.len() >= 3;
    let named = labels.iter().any(|label| label.contains(|c: char| c.is_alphabetic()));
    let known = prefixed
        || lists(CLEAR_DOMAINS)
        || lists(WORD_DOMAINS) && (continues || labels.len() >= 3)
        || lists(&CLEAR_DOMAINS.to_ascii_uppercase())
            && labels.iter().all(|label| !label.contains(char::is_lowercase));
    if !(known && named) {
        return None;
    }
    if continues { address_end(text, at).map(|end| end.max(host_end)) } else { Some(host_end) }
}

/// Where an address that runs through `at` ends: before white space and quotes, without the punctuation
/// of the sentence around it.
fn address_end(text: &str, at: usize) -> Option<usize> {
    let mut end = run_end(text, at, |c| {
        !c.is_whitespace()
            && !c.is_control()
            && !"<>\"“”„«»`{}|\\^。，、！？；：）】」』》（【「『《…".contains(c)
    });
    // How many more brackets of a kind close than open, so far: what closes too often is not the address's own.
    let surplus = |open: char, close: char| {
        let brackets = text.get(at..end).unwrap_or_default().chars();
        brackets.fold(0_isize, |n, c| n + isize::from(c == close) - isize::from(c == open))
    };
    let (mut round, mut square) = (surplus('(', ')'), surplus('[', ']'));
    while let Some(last) = text.get(at..end)?.chars().next_back() {
        let drop = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '’' | '‘' | '*' | '_' => true,
            ')' => round > 0,
            ']' => square > 0,
            _ => false,
        };
        if !drop {
            break;
        }
        round -= isize::from(last == ')');
        square -= isize::from(last == ']');
        end -= last.len_utf8();
    }
    Some(end)
}

/// An e-mail address at `at`.
pub(super) fn email(text: &str, at: usize) -> Option<usize> {
    let is_local = |c: char| c.is_alphanumeric() && !is_cjk(c) || "._%+-".contains(c);
    let mark = run_end(text, at, is_local);
    if mark == at || char_at(text, mark) != Some('@') {
        return None;
    }
    let start = mark + 1;
    let end = run_end(text, start, |c| c.is_alphanumeric() && !is_cjk(c) || matches!(c, '-' | '.'));
    let domain = text.get(start..end)?.trim_end_matches(['.', '-']);
    let (host, tld) = domain.rsplit_once('.')?;
    let valid = !host.is_empty()
        && !domain.contains("..")
        && tld.chars().count() >= 2
        && tld.chars().all(char::is_alphabetic);
    valid.then_some(start + domain.len())
}

/// `@someone`, `#topic`; `#5` is a number.
pub(super) fn mention(text: &str, at: usize, first: char) -> Option<usize> {
    if !matches!(first, '@' | '#') || char_before(text, at).is_some_and(|c| c == '&') {
        return None;
    }
    let end = run_end(text, at + 1, |c| {
        c.is_alphanumeric() && !is_cjk(c) || matches!(c, '_' | '.' | '-')
    });
    let name = text.get(at + 1..end)?.trim_end_matches(['.', '-']);
    name.contains(char::is_alphabetic).then_some(at + 1 + name.len())
}

/// Letters of scripts that put no space between an address and the words around it.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{30ff}' | '\u{3100}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}
