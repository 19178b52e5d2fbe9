//! Days and the periods that they belong to: the calendar of reports.

use std::fmt;

use time::{Date, Duration, Month, PrimitiveDateTime};

use crate::error::{Error, Fault, FaultKind};
use crate::model::question::Condition;
use crate::model::value::Value;

/// The default number of days of a report.
const USUAL_DAYS: i64 = 30;
/// The greatest number of periods of a report.
const MAX_PERIODS: usize = 10_000;

/// A range of days, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) from: Date,
    pub(crate) to: Date,
}

/// A range as whole months, with the days of the month that begins before it and of the one that ends after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Months {
    pub(super) before: Option<Range>,
    pub(super) whole: Option<Range>,
    pub(super) after: Option<Range>,
}

impl Range {
    /// The days that the filters select, by default the most recent ones.
    pub(super) fn of(conditions: &[Condition], today: Date) -> Self {
        let day = |value: &Value| value.moment().map(PrimitiveDateTime::date);
        let from = conditions.iter().find_map(|condition| match condition {
            Condition::AtLeast(_, moment) => day(moment),
            _ => None,
        });
        let to = conditions.iter().find_map(|condition| match condition {
            Condition::AtMost(_, moment) => day(moment),
            _ => None,
        });
        match (from, to) {
            (Some(from), Some(to)) => Self { from, to },
            // The client may be in a time zone in which it is already tomorrow.
            (Some(from), None) => Self { from, to: today.max(from) },
            (None, to) => {
                let to = to.unwrap_or(today);
                Self { from: earlier(to, USUAL_DAYS - 1), to }
            }
        }
    }

    /// The range of the same length immediately before this one, as far as the calendar goes.
    pub(super) fn before(self) -> Option<Self> {
        let to = self.from.previous_day().filter(|day| day.year() >= FIRST_YEAR)?;
        Some(Self { from: earlier(to, (self.to - self.from).whole_days()), to })
    }

    /// The months of the range.
    pub(super) fn months(self) -> Months {
        let Self { from, to } = self;
        // The first day of the first whole month, and the last day of the last one, which comes before if there is none.
        let first = if from.day() == 1 { Some(from) } else { Unit::Month.after(from) };
        let last = if to.day() == to.month().length(to.year()) {
            Some(to)
        } else {
            to.replace_day(1).ok().and_then(Date::previous_day)
        };
        let before = first.and_then(Date::previous_day).map_or(to, |day| day.min(to));
        // No day follows the last one of the calendar.
        let after = if last == Some(to) { None } else { first.max(last.and_then(Date::next_day)) };
        let range = |from: Option<Date>, to: Option<Date>| {
            let days = from.zip(to).filter(|(from, to)| from <= to);
            days.map(|(from, to)| Self { from, to })
        };
        Months {
            before: range(Some(from), Some(before)),
            whole: range(first, last),
            after: range(after, first.map(|_| to)),
        }
    }

    /// The periods of the range in order, clipped to it.
    ///
    /// # Errors
    /// When there are too many.
    pub(super) fn periods(self, unit: Unit) -> Result<Vec<Range>, Error> {
        let mut periods = Vec::new();
        let mut next = Some(self.from);
        while let Some(from) = next.filter(|day| *day <= self.to) {
            if periods.len() == MAX_PERIODS {
                let detail = format!("The range has more than {MAX_PERIODS} periods.");
                let fault = Fault::at_parameter(FaultKind::InvalidFilter, "filter[period]", detail);
                return Err(fault.into());
            }
            let after = unit.after(from);
            let last = after.and_then(Date::previous_day).unwrap_or(self.to);
            periods.push(Range { from, to: last.min(self.to) });
            next = after;
        }
        Ok(periods)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// The first year that a client may request.
const FIRST_YEAR: i32 = 1;

/// The day this many days earlier, or the first day that may be requested.
fn earlier(day: Date, days: i64) -> Date {
    let first = Date::from_ordinal_date(FIRST_YEAR, 1).unwrap_or(day);
    day.checked_sub(Duration::days(days)).unwrap_or(first).max(first)
}

/// The unit of periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    /// A week of ISO 8601, which begins on a Monday.
    Week,
    Month,
    Year,
}

impl Unit {
    /// The unit that the filters select.
    pub(super) fn of(conditions: &[Condition]) -> Self {
        let asked = conditions.iter().find_map(|condition| match condition {
            Condition::Equals("period", Value::Text(unit)) => Some(&**unit),
            _ => None,
        });
        match asked {
            Some("week") => Unit::Week,
            Some("month") => Unit::Month,
            Some("year") => Unit::Year,
            _ => Unit::Day,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
            Unit::Year => "year",
        }
    }

    /// The first day of the period after the one that contains a day.
    fn after(self, day: Date) -> Option<Date> {
        match self {
            Unit::Day => day.next_day(),
            Unit::Week => {
                let gone = i64::from(day.weekday().number_days_from_monday());
                day.checked_add(Duration::days(7 - gone))
            }
            Unit::Month if day.month() == Month::December => Unit::Year.after(day),
            Unit::Month => Date::from_calendar_date(day.year(), day.month().next(), 1).ok(),
            Unit::Year => Date::from_ordinal_date(day.year() + 1, 1).ok(),
        }
    }
}
