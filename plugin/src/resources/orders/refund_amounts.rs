//! How much of a line can be given back, and what a part of it is worth. All amounts are in units of 10^-5.
//! Pure arithmetic, independent of records and of the database.
//!
//! The pieces of a line have shares in its amount. What the first so many cost is rounded once, so that all parts of
//! a line add up to it exactly, in whatever order they are given back; a part that follows a reversal takes the
//! remainder. An amount without pieces leaves all pieces open. The tax of a part is its share of the tax of the line,
//! rounded in the same way.

use std::ops::{Add, Neg};

/// The least amount that a currency can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coin(i64);

/// Some pieces of a line, or an amount of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// How many pieces.
    pub(super) quantity: i64,
    /// What is given back.
    pub(super) amount: i64,
    /// The tax in it.
    pub(super) tax: i64,
    /// What the pieces cost, whatever is given back for them.
    pub(super) share: i64,
}

/// A line of an order, or its shipping, which has no pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    coin: Coin,
    quantity: i64,
    amount: i64,
    tax: i64,
    refunded: Part,
}

/// What of a line is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) quantity: i64,
    pub(super) amount: i64,
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    Pieces,
    Money,
}

impl Line {
    /// A line of so many pieces with its amount, which includes the tax, and what of it was given back. What its
    /// currency cannot express is never given back.
    pub(super) fn new(coin: Coin, quantity: i64, [amount, tax]: [i64; 2], refunded: Part) -> Self {
        Self { coin, quantity, amount: coin.whole(amount), tax: coin.whole(tax), refunded }
    }

    /// What of it is open.
    pub(super) fn left(&self) -> Left {
        Left {
            quantity: (self.quantity - self.refunded.quantity).max(0),
            amount: (self.amount - self.refunded.amount).max(0),
        }
    }

    /// The next part: these pieces, for what they cost unless there is an amount; or an amount alone.
    pub(super) fn part(&self, quantity: i64, amount: Option<i64>) -> Result<Part, TooMuch> {
        let (left, refunded) = (self.left(), self.refunded);
        if quantity > left.quantity {
            return Err(TooMuch::Pieces);
        }
        let pieces = refunded.quantity + quantity;
        let share = match quantity {
            0 => 0,
            _ => self.coin.share(self.amount, pieces, self.quantity) - refunded.share,
        };
        // After a reversal, the pieces before these may have got more than their share.
        let share = share.max(0);
        let amount = amount.unwrap_or(share);
        if amount > left.amount {
            return Err(TooMuch::Money);
        }
        let given = refunded.amount + amount;
        let tax = if given == self.amount {
            self.tax
        } else if given == refunded.share + share {
            self.coin.share(self.tax, pieces, self.quantity)
        } else {
            self.coin.share(self.tax, given, self.amount)
        };
        Ok(Part { quantity, amount, tax: (tax - refunded.tax).max(0), share })
    }
}

impl Coin {
    /// That of a currency with so many decimals.
    pub(super) fn of(decimals: i64) -> Self {
        let places = u32::try_from(decimals.clamp(0, 5)).unwrap_or(5);
        Self(10_i64.pow(5 - places))
    }

    /// Whether the currency can express an amount.
    pub(super) fn pays(self, amount: i64) -> bool {
        amount % self.0 == 0
    }

    /// The greatest amount that is not above this one; none of a negative one.
    pub(super) fn whole(self, amount: i64) -> i64 {
        amount.max(0) / self.0 * self.0
    }

    /// The share that a part has in an amount, rounded half away from zero.
    fn share(self, amount: i64, part: i64, whole: i64) -> i64 {
        let [coin, amount, part, whole] = [self.0, amount, part, whole.max(1)].map(i128::from);
        let coins = (2 * amount * part + whole * coin) / (2 * whole * coin);
        // The part is at most the whole.
        i64::try_from(coins * coin).unwrap_or(i64::MAX)
    }
}

impl Add for Part {
    type Output = Part;

    fn add(self, other: Part) -> Part {
        Part {
            quantity: self.quantity + other.quantity,
            amount: self.amount + other.amount,
            tax: self.tax + other.tax,
            share: self.share + other.share,
        }
    }
}

/// What undoes a part.
impl Neg for Part {
    type Output = Part;

    fn neg(self) -> Part {
        Part { quantity: -self.quantity, amount: -self.amount, tax: -self.tax, share: -self.share }
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    /// How many lines are generated for each property.
    const LINES: usize = 3_000;

    /// A line of a currency with 0, 2 or 3 decimals, and an amount with up to five.
    struct Sample {
        coin: Coin,
        quantity: i64,
        amounts: [i64; 2],
        refunded: Part,
    }

    impl Sample {
        fn any(rng: &mut Rng) -> Self {
            let coin = Coin::of([0, 2, 3][rng.usize(..3)]);
            let quantity = match rng.u8(..3) {
                0 => rng.i64(1..=4),
                1 => rng.i64(1..=40),
                _ => rng.i64(1..=10_000),
            };
            // A few coins for many pieces, or any price with up to four decimals.
            let amount = if rng.bool() {
                rng.i64(0..=20) * coin.0
            } else {
                quantity * rng.i64(0..10_000_000) * 10
            };
            let tax = amount / 119 * rng.i64(0..20);
            Sample { coin, quantity, amounts: [amount, tax], refunded: Part::default() }
        }

        fn line(&self) -> Line {
            Line::new(self.coin, self.quantity, self.amounts, self.refunded)
        }

        /// Gives a part back, if there is as much.
        fn give(&mut self, quantity: i64, amount: Option<i64>) -> Option<Part> {
            let part = self.line().part(quantity, amount).ok()?;
            self.refunded = self.refunded + part;
            self.check();
            Some(part)
        }

        fn check(&self) {
            let (line, Part { quantity, amount, tax, share }) = (self.line(), self.refunded);
            assert!((0..=line.quantity).contains(&quantity), "{quantity} of {line:?}");
            assert!((0..=line.amount).contains(&amount), "{amount} of {line:?}");
            assert!((0..=line.tax).contains(&tax), "{tax} of {line:?}");
            assert!((0..=line.amount).contains(&share), "{share} of {line:?}");
            assert!(line.coin.pays(amount) && line.coin.pays(tax) && line.coin.pays(share));
        }

        /// Fails unless everything was given back.
        fn is_all(&self) {
            let line = self.line();
            let given = (self.refunded.amount, self.refunded.tax);
            assert_eq!(given, (line.amount, line.tax), "{line:?}");
            assert!(line.amount <= self.amounts[0] && self.amounts[0] - line.amount < line.coin.0);
        }
    }

    #[test]
    fn parts_by_quantity_add_up_to_their_line_whatever_their_sizes() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..LINES {
            let mut line = Sample::any(&mut rng);
            let most = rng.i64(1..=line.quantity);
            while line.refunded.quantity < line.quantity {
                let quantity = rng.i64(1..=most).min(line.line().left().quantity);
                assert!(line.give(quantity, None).is_some(), "{:?}", line.line());
            }
            line.is_all();
        }
    }

    #[test]
    fn parts_of_any_kind_with_reversals_between_add_up_to_their_line() {
        let mut rng = Rng::with_seed(2);
        for _ in 0..LINES {
            let mut line = Sample::any(&mut rng);
            let mut parts = Vec::new();
            for _ in 0..rng.u8(1..30) {
                let Left { quantity, amount } = line.line().left();
                let coins = amount / line.coin.0;
                let pieces = rng.i64(0..=quantity.min(1 + line.quantity / 3));
                let some = rng.i64(0..=coins.min(1 + coins / 3)) * line.coin.0;
                match rng.u8(..4) {
                    0 if !parts.is_empty() => {
                        let undone: Part = parts.swap_remove(rng.usize(..parts.len()));
                        line.refunded = line.refunded + -undone;
                        line.check();
                    }
                    1 => parts.extend(line.give(0, Some(some))),
                    2 => parts.extend(line.give(pieces, Some(some))),
                    _ => parts.extend(line.give(pieces, None)),
                }
            }
            assert_eq!(line.give(line.line().left().quantity + 1, None), None);
            assert_eq!(line.give(0, Some(line.line().left().amount + line.coin.0)), None);
            if rng.bool() {
                parts.extend(line.give(0, Some(line.line().left().amount)));
                line.is_all();
            }
            while !parts.is_empty() {
                line.refunded = line.refunded + -parts.swap_remove(rng.usize(..parts.len()));
                line.check();
            }
            assert_eq!(line.refunded, Part::default(), "what is undone leaves nothing behind");
        }
    }

    #[test]
    fn without_amounts_of_their_own_all_pieces_give_the_line_after_any_reversals() {
        let mut rng = Rng::with_seed(3);
        for _ in 0..LINES {
            let mut line = Sample::any(&mut rng);
            let mut parts: Vec<Part> = Vec::new();
            for _ in 0..rng.u8(..20) {
                if rng.bool() && !parts.is_empty() {
                    let undone = parts.swap_remove(rng.usize(..parts.len()));
                    line.refunded = line.refunded + -undone;
                } else {
                    let quantity = rng.i64(0..=line.line().left().quantity);
                    parts.extend(line.give(quantity, None));
                }
            }
            assert!(line.give(line.line().left().quantity, None).is_some(), "{:?}", line.line());
            line.is_all();
        }
    }

    #[test]
    fn the_cents_of_a_line_are_where_they_are_expected() -> Result<(), TooMuch> {
        // Three pieces for 10.00, of which 1.60 is tax.
        let line = |refunded| Line::new(Coin::of(2), 3, [1_000_000, 160_000], refunded);
        let first = line(Part::default()).part(1, None)?;
        let second = line(first).part(1, None)?;
        let third = line(first + second).part(1, None)?;
        let cents = |part: Part| [part.amount, part.tax].map(|units| units / 1_000);
        assert_eq!([first, second, third].map(cents), [[333, 53], [334, 54], [333, 53]]);
        // What was undone is what comes next.
        assert_eq!(cents(line(first + third).part(1, None)?), [334, 54]);
        // Less for a piece than it has cost does not make the others dearer.
        let less = line(Part::default()).part(1, Some(200_000))?;
        assert_eq!(cents(less), [200, 32]);
        assert_eq!(line(less).part(1, None)?.amount, 334_000);
        // An amount leaves the pieces open, but not their money.
        let amount = line(Part::default()).part(0, Some(500_000))?;
        assert_eq!(line(amount).left(), Left { quantity: 3, amount: 500_000 });
        assert_eq!(line(amount).part(2, None), Err(TooMuch::Money));
        assert_eq!(line(amount).part(4, None), Err(TooMuch::Pieces));
        Ok(())
    }
}
