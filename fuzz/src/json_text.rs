//! A dull reader of JSON texts by RFC 8259, which keeps every part as it was written. It has no limit of depth, and
//! says nothing about what a text means.

/// What a JSON text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    Text,
    /// Without fraction and exponent.
    Integer,
    Number,
    Word,
}

/// A JSON text without blanks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
}

impl<'a> Part<'a> {
    /// Reads a whole text; `None` if it is not one.
    pub(crate) fn read(text: &'a str) -> Option<Part<'a>> {
        let mut reader = Reader { text, at: 0 };
        reader.blanks();
        let part = reader.part()?;
        reader.blanks();
        (reader.at == text.len()).then_some(part)
    }

    /// The members of an object in their order: names as they were written, without quotes.
    pub(crate) fn members(&self) -> Vec<(&'a str, Part<'a>)> {
        assert_eq!(self.kind, Kind::Object);
        let mut reader = Reader { text: self.text, at: 1 };
        let mut members = Vec::new();
        loop {
            reader.blanks();
            let Some(name) = reader.part() else { return members };
            reader.blanks();
            reader.at += 1;
            reader.blanks();
            let value = reader.part().expect("it was read before");
            members.push((&name.text[1..name.text.len() - 1], value));
            reader.blanks();
            reader.at += 1;
        }
    }

    /// The elements of an array.
    pub(crate) fn elements(&self) -> Vec<Part<'a>> {
        assert_eq!(self.kind, Kind::Array);
        let mut reader = Reader { text: self.text, at: 1 };
        let mut elements = Vec::new();
        loop {
            reader.blanks();
            let Some(element) = reader.part() else { return elements };
            elements.push(element);
            reader.blanks();
            reader.at += 1;
        }
    }

    /// What a string says; `None` if it is no string, or one with half a surrogate pair.
    pub(crate) fn says(&self) -> Option<String> {
        if self.kind != Kind::Text {
            return None;
        }
        unescape(&self.text[1..self.text.len() - 1])
    }
}

/// The characters that stand between quotes.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let plain = match char {
            '\\' => match chars.next()? {
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).ok()?);
                    continue;
                }
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            },
            other => other,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16(&units).ok()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// One value; what is within is walked over with a list of what is open, so that depth costs no stack.
    fn part(&mut self) -> Option<Part<'a>> {
        let start = self.at;
        let mut open: Vec<u8> = Vec::new();
        let mut kind = None;
        loop {
            // Here a value begins, or a structure that was just opened ends.
            self.blanks();
            let first = self.peek()?;
            match first {
                b'{' | b'[' => {
                    self.at += 1;
                    // The sign that closes is two behind the one that opens.
                    open.push(first + 2);
                    kind = kind.or(Some(if first == b'{' { Kind::Object } else { Kind::Array }));
                    self.blanks();
                    if self.peek() != open.last().copied() {
                        if first == b'{' {
                            self.name()?;
                        }
                        continue;
                    }
                }
                _ => {
                    let scalar = self.scalar(first)?;
                    kind = kind.or(Some(scalar));
                }
            }
            // Here a value has ended, or the closing sign of an empty structure stands.
            loop {
                if open.is_empty() {
                    return Some(Part { kind: kind?, text: &self.text[start..self.at] });
                }
                self.blanks();
                let next = self.peek()?;
                self.at += 1;
                if Some(&next) == open.last() {
                    open.pop();
                    continue;
                }
                if next != b',' {
                    return None;
                }
                if open.last() == Some(&b'}') {
                    self.blanks();
                    self.name()?;
                }
                break;
            }
        }
    }

    /// A member's name and the colon.
    fn name(&mut self) -> Option<()> {
        if self.peek() != Some(b'"') {
            return None;
        }
        self.string()?;
        self.blanks();
        if self.peek() != Some(b':') {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn scalar(&mut self, first: u8) -> Option<Kind> {
        match first {
            b'"' => self.string().map(|()| Kind::Text),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                let rest = &self.text[self.at..];
                let word = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word))?;
                self.at += word.len();
                Some(Kind::Word)
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let octet = self.peek()?;
            self.at += 1;
            match octet {
                b'"' => return Some(()),
                0..=0x1f => return None,
                b'\\' => {
                    let escaped = self.peek()?;
                    self.at += 1;
                    match escaped {
                        b'u' => {
                            let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                return None;
                            }
                            self.at += 4;
                        }
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        _ => return None,
                    }
                }
                _ => {}
            }
        }
    }

    fn number(&mut self) -> Option<Kind> {
        let mut kind = Kind::Integer;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
            kind = Kind::Number;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
            kind = Kind::Number;
        }
        Some(kind)
    }

    /// At least one.
    fn digits(&mut self) -> Option<()> {
        let before = self.at;
        while self.peek().is_some_and(|octet| octet.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > before).then_some(())
    }
}
