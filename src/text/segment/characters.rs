//! Classes of characters that matter to where a sentence ends.

/// Ends a line, or a field of a table, and with it a segment.
pub fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\t' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Ends a sentence where white space follows.
pub(super) fn is_stop(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '…'
            | '‼'
            | '⁇'
            | '⁈'
            | '⁉'
            | '‽'
            | '؟'
            | '۔'
            | '؞'
            | '।'
            | '॥'
            | '։'
            | '՜'
            | '՞'
            | '።'
            | '፧'
            | '፨'
            | '᙮'
            | '᠃'
            | '᠉'
            | '⸮'
    ) || is_wide_stop(c)
}

/// Ends a sentence whatever follows: the scripts of these stops put no space behind them.
pub(super) fn is_wide_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '︒' | '︕' | '︖' | '។' | '៕' | '။' | '༎')
}

/// Belongs to the sentence whose stop it follows.
pub(super) fn is_closer(c: char) -> bool {
    ")]}\"'*_’”」』】）］｝〉》〕〗〙〛＂＇｣⟩〞〟".contains(c)
}

/// Closes in one language and opens in another: white space or the end of the line must follow.
pub(super) fn is_turned_closer(c: char) -> bool {
    matches!(c, '»' | '«' | '›' | '‹' | '“' | '‘')
}

/// May stand before the first letter of a sentence.
pub(super) fn is_opener(c: char) -> bool {
    "([{\"'*_‘“„‚«‹»›”¿¡—–-―「『【（［｛〈《〔#•·†§".contains(c)
}

/// Letters of scripts written without spaces, before which a plain stop may end a sentence too.
pub(super) fn is_spaceless_letter(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fff}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
