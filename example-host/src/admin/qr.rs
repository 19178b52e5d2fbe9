//! An image that a phone reads a text from, as SVG within a page: a path of the dark squares.

use std::fmt::Write;

use askama::Template;
use askama::filters::HtmlSafe;
use fast_qr::QRBuilder;
use fast_qr::qr::QRCodeError;

/// The light border that readers expect, in squares.
const BORDER: usize = 4;

/// An image of a text.
#[derive(Template)]
#[template(
    source = r##"<svg class="qr" viewBox="0 0 {{ size }} {{ size }}" width="240" height="240" role="img" aria-label="{{ label }}"><path fill="#fff" d="M0 0h{{ size }}v{{ size }}H0z"/><path fill="#000" d="{{ squares }}"/></svg>"##,
    ext = "html"
)]
pub(crate) struct Qr {
    label: &'static str,
    size: usize,
    squares: String,
}

impl HtmlSafe for Qr {}

impl Qr {
    /// The image of a text, and what it is for those who do not see it.
    pub(crate) fn new(text: &str, label: &'static str) -> Result<Self, QRCodeError> {
        let code = QRBuilder::new(text).build()?;
        let mut squares = String::new();
        for y in 0..code.size {
            let row = &code[y];
            let mut x = 0;
            // Squares beside each other are one rectangle.
            while x < code.size {
                let length = row.iter().take(code.size).skip(x).take_while(|it| it.value()).count();
                if length > 0 {
                    let _ = write!(squares, "M{} {}h{length}v1h-{length}z", x + BORDER, y + BORDER);
                }
                x += length + 1;
            }
        }
        Ok(Self { label, size: code.size + 2 * BORDER, squares })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corners_have_the_marks_that_readers_look_for() {
        let image = Qr::new("otpauth://totp/shop:ann?secret=GEZDGNBVGY3TQOJQ", "A code");
        let Ok(Qr { size, squares, .. }) = image else { unreachable!("the text is short") };
        assert_eq!((size - 8 - 21) % 4, 0, "versions differ by four squares");
        for mark in [(4, 4), (size - 11, 4), (4, size - 11)] {
            let (x, y) = mark;
            assert!(squares.contains(&format!("M{x} {y}h7v1h-7z")), "{mark:?} in {squares}");
            assert!(squares.contains(&format!("M{x} {}h7v1h-7z", y + 6)), "{mark:?} in {squares}");
        }
        assert!(Qr::new(&"x".repeat(5000), "A code").is_err());
    }
}
