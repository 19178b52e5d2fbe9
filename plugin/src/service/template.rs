//! Templates of mails: what they may use, and how much they may make of it. Independent of what mails are
//! about.
//!
//! A template of a few characters could make gigabytes: by repeating a text, by joining one with itself again
//! and again, or by padding a number. Nothing in the engine limits that, so only what cannot grow is
//! permitted: lists of names and operators that are known to be harmless, rather than of those that are not.
//! What remains, the filters that make texts, have a common limit, as the whole text has.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Stmt};
use minijinja::machinery::parse;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{
    Environment, Error as EngineError, ErrorKind, UndefinedBehavior, Value, filters, tests,
};
use serde::Serialize;

use crate::wire::limited::Limited;

/// The limit of steps, far more than any letter needs.
const FUEL: u64 = 20_000;

/// The greatest length of a text in bytes, and of all that the filters make for it.
const LONGEST: usize = 1024 * 1024;

/// How many arguments a filter or a test has at most.
const MOST_ARGUMENTS: usize = 3;

/// Why a template cannot be filled in.
#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    /// It uses something that templates may not use.
    #[error("templates have no {0}")]
    Unknown(&'static str),
    /// The text would be too long.
    #[error("the text, or what filters make for it, would have more than {LONGEST} bytes")]
    TooLong,
    /// It would take too many steps.
    #[error("the text would take more than {FUEL} steps")]
    TooManySteps,
    /// The engine refuses it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Fills in a template.
pub(super) fn render(template: &str, values: &impl Serialize) -> Result<String, TemplateError> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).keep_trailing_newline(true).build()?;
    statement(&parse(template, "template", syntax.clone())?)?;
    let environment = environment(syntax);
    let mut text = Limited::new(LONGEST, template.len());
    let filled =
        environment.template_from_str(template)?.render_captured_to(Serde(values), &mut text);
    match filled {
        Ok(_) => Ok(String::from_utf8_lossy(&text.into_bytes()).into_owned()),
        Err(error) => Err(match error.kind() {
            ErrorKind::WriteFailure => TemplateError::TooLong,
            ErrorKind::OutOfFuel => TemplateError::TooManySteps,
            _ => error.into(),
        }),
    }
}

/// The engine with the filters and tests that templates may use, and without functions.
fn environment(syntax: SyntaxConfig) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_syntax(syntax);
    environment.add_filter("abs", filters::abs);
    environment.add_filter("d", filters::default);
    environment.add_filter("default", filters::default);
    environment.add_filter("first", filters::first);
    environment.add_filter("float", filters::float);
    environment.add_filter("int", filters::int);
    environment.add_filter("last", filters::last);
    environment.add_filter("count", filters::length);
    environment.add_filter("length", filters::length);
    environment.add_filter("max", filters::max);
    environment.add_filter("min", filters::min);
    environment.add_filter("round", filters::round);
    let made = Made::default();
    for (name, change) in CHANGES {
        let made = made.clone();
        environment.add_filter(name, move |text: String| made.text(change(&text)));
    }
    let of = made.clone();
    environment.add_filter("replace", move |text: String, from: String, to: String| {
        let count = text.matches(&from).count();
        of.add(text.len().saturating_add(count.saturating_mul(to.len())))?;
        Ok::<_, EngineError>(text.replace(&from, &to))
    });
    environment.add_filter("join", move |list: Value, between: Option<String>| {
        let (between, mut text) = (between.unwrap_or_default(), String::new());
        for (position, item) in list.try_iter()?.enumerate() {
            let item = item.to_string();
            made.add(item.len() + between.len())?;
            if position > 0 {
                text.push_str(&between);
            }
            text.push_str(&item);
        }
        Ok::<_, EngineError>(text)
    });
    environment.add_test("defined", tests::is_defined);
    environment.add_test("undefined", tests::is_undefined);
    environment.add_test("none", tests::is_none);
    environment.add_test("number", tests::is_number);
    environment.add_test("string", tests::is_string);
    environment.add_test("odd", tests::is_odd);
    environment.add_test("even", tests::is_even);
    environment.add_test("divisibleby", tests::is_divisibleby);
    environment
}

/// What makes a text of another one.
type Change = fn(&str) -> String;

/// The filters that make a text of another one.
const CHANGES: [(&str, Change); 6] = [
    ("upper", str::to_uppercase),
    ("lower", str::to_lowercase),
    ("trim", |text| text.trim().to_owned()),
    ("string", str::to_owned),
    ("title", |text| filters::title(text.into())),
    ("capitalize", |text| {
        let mut characters = text.chars();
        let first = characters.next().into_iter().flat_map(char::to_uppercase);
        first.collect::<String>() + &characters.as_str().to_lowercase()
    }),
];

/// How much the filters have made for a text.
#[derive(Clone, Default)]
struct Made(Arc<AtomicUsize>);

impl Made {
    fn text(&self, text: String) -> Result<String, EngineError> {
        self.add(text.len())?;
        Ok(text)
    }

    fn add(&self, bytes: usize) -> Result<(), EngineError> {
        let before = self.0.fetch_add(bytes.min(LONGEST + 1), Ordering::Relaxed);
        if before.saturating_add(bytes) > LONGEST {
            Err(EngineError::new(ErrorKind::WriteFailure, "filters would make too much"))
        } else {
            Ok(())
        }
    }
}

/// Checks a statement and what is in it.
fn statement(of: &Stmt<'_>) -> Result<(), TemplateError> {
    match of {
        Stmt::Template(template) => statements(&template.children),
        Stmt::EmitRaw(_) => Ok(()),
        Stmt::EmitExpr(emit) => expression(&emit.expr),
        Stmt::ForLoop(of) => {
            expression(&of.iter)?;
            of.filter_expr.iter().try_for_each(expression)?;
            statements(&of.body)?;
            statements(&of.else_body)
        }
        Stmt::IfCond(of) => {
            expression(&of.expr)?;
            statements(&of.true_body)?;
            statements(&of.false_body)
        }
        Stmt::Set(set) => held(&set.expr),
        Stmt::WithBlock(with) => {
            with.assignments.iter().try_for_each(|(_, value)| held(value))?;
            statements(&with.body)
        }
        Stmt::SetBlock(_) | Stmt::FilterBlock(_) => Err(TemplateError::Unknown("captured blocks")),
        _ => Err(TemplateError::Unknown("such statements; only if, for, set and with")),
    }
}

fn statements(all: &[Stmt<'_>]) -> Result<(), TemplateError> {
    all.iter().try_for_each(statement)
}

/// Checks an expression whose value is kept: parts of texts are copies.
fn held(value: &Expr<'_>) -> Result<(), TemplateError> {
    match value {
        Expr::Slice(_) => Err(TemplateError::Unknown("variables with parts of texts")),
        value => expression(value),
    }
}

/// Checks an expression.
fn expression(of: &Expr<'_>) -> Result<(), TemplateError> {
    match of {
        Expr::Var(_) | Expr::Const(_) => Ok(()),
        Expr::GetAttr(get) => expression(&get.expr),
        Expr::GetItem(get) => {
            expression(&get.expr)?;
            expression(&get.subscript_expr)
        }
        Expr::Slice(slice) => {
            expression(&slice.expr)?;
            [&slice.start, &slice.stop, &slice.step].into_iter().flatten().try_for_each(expression)
        }
        Expr::UnaryOp(of) => expression(&of.expr),
        Expr::BinOp(of) => {
            if let BinOpKind::Add | BinOpKind::Mul | BinOpKind::Pow | BinOpKind::Concat = of.op {
                return Err(TemplateError::Unknown("operators +, *, ** and ~"));
            }
            expression(&of.left)?;
            expression(&of.right)
        }
        Expr::Compare(of) => {
            expression(&of.expr)?;
            of.ops.iter().try_for_each(|op| expression(&op.expr))
        }
        Expr::IfExpr(of) => {
            expression(&of.test_expr)?;
            expression(&of.true_expr)?;
            of.false_expr.iter().try_for_each(expression)
        }
        Expr::Filter(filter) => {
            filter.expr.iter().try_for_each(expression)?;
            arguments(&filter.args)
        }
        Expr::Test(test) => {
            expression(&test.expr)?;
            arguments(&test.args)
        }
        // Lists of lists could be as deep as a template is long, and be compared or shown for ever.
        Expr::List(list) if list.items.iter().all(|item| matches!(item, Expr::Const(_))) => Ok(()),
        Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => {
            Err(TemplateError::Unknown("lists, except of constants"))
        }
        Expr::Call(_) => Err(TemplateError::Unknown("functions")),
    }
}

fn arguments(all: &[CallArg<'_>]) -> Result<(), TemplateError> {
    if all.len() > MOST_ARGUMENTS {
        return Err(TemplateError::Unknown("filters with so many arguments"));
    }
    all.iter().try_for_each(|argument| match argument {
        CallArg::Pos(value) | CallArg::Kwarg(_, value) => expression(value),
        CallArg::PosSplat(_) | CallArg::KwargSplat(_) => {
            Err(TemplateError::Unknown("arguments from lists"))
        }
    })
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn filled(template: &str) -> Result<String, String> {
        let values = serde_json::json!({
            "name": "ada berg", "comment": "x".repeat(60_000), "status": "Shipped",
            "items": (0..1_000).map(|number| serde_json::json!({"quantity": number})).collect::<Vec<_>>(),
        });
        render(template, &values).map_err(|error| crate::error::chain(&error))
    }

    #[test]
    fn what_letters_need_is_permitted() {
        for (template, text) in [
            (
                "{{ name|upper }}, {{ name|title }}, {{ name|capitalize }}",
                "ADA BERG, Ada Berg, Ada berg",
            ),
            ("{% if status in ['Shipped', 'Delivered'] %}gone{% else %}here{% endif %}", "gone"),
            ("{% for item in items if item.quantity < 3 %}{{ loop.index }}{% endfor %}", "123"),
            ("{% set first = name|first %}{{ first }}{{ name[1:3] }}", "ada"),
            (
                "{{ items|length }} {{ name|replace('a', 'o') }} {{ ['a', 'b']|join('-') }}",
                "1000 odo berg a-b",
            ),
            ("{{ none_such|default('-') }}{{ '' or name }}{{ 7 - 2 }}{{ -1 }}", "-ada berg5-1"),
            (
                "{% if name is defined and not comment is none %}{{ comment|length }}{% endif %}",
                "60000",
            ),
        ] {
            assert_eq!(filled(template).as_deref(), Ok(text), "{template}");
        }
    }

    /// Each would make far more than it may, or take for ever.
    #[test]
    fn no_template_makes_a_long_text_of_a_short_one() {
        let nested = "{% set a = [1] %}".to_owned() + &"{% set a = [a, a] %}".repeat(50);
        let many = |part: &str| part.repeat(19_000 / part.len());
        for template in [
            "{{ '%0200000000d'|format(1) }}".to_owned(),
            "{{ 'x' * 100000000 }}".to_owned(),
            "{% set a = comment * 1000 %}".to_owned(),
            "{% set a = comment ~ comment %}".to_owned(),
            "{% set a = comment + comment %}".to_owned(),
            "{{ 10 ** 30 }}".to_owned(),
            nested.clone() + "{{ a }}",
            nested.clone() + "{{ a == a }}",
            nested + "{{ a|string|length }}",
            "{% set a %}{{ comment }}{{ comment }}{% endset %}".to_owned(),
            "{% filter upper %}{{ comment }}{% endfilter %}".to_owned(),
            "{{ range(100000) }}".to_owned(),
            "{{ dict(a=comment) }}".to_owned(),
            "{{ {'a': comment} }}".to_owned(),
            "{{ (comment, comment) }}".to_owned(),
            "{{ comment|indent(100000000) }}".to_owned(),
            "{{ items|batch(100000000, 'x') }}".to_owned(),
            "{{ items|slice(100000000) }}".to_owned(),
            "{{ comment|center(100000000) }}".to_owned(),
            "{{ comment|replace('x', comment) }}".to_owned(),
            "{{ comment|replace('', comment)|length }}".to_owned(),
            "{{ items|join(comment)|length }}".to_owned(),
            "{% for item in items %}{{ comment }}{% endfor %}".to_owned(),
            "{% for item in items %}{{ comment|upper|length }}{% endfor %}".to_owned(),
            "{% for a in items %}{% for b in items %}.{% endfor %}{% endfor %}".to_owned(),
            "{% set a = comment[:] %}".to_owned(),
            many("{{ comment }}"),
            many("{{ comment|upper|length }}"),
            "{{ name|default(".to_owned() + &many("comment[:],") + "1) }}",
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned(),
            "{% include 'a' %}".to_owned(),
        ] {
            let refused = filled(&template);
            assert!(refused.is_err(), "{template}: {} bytes", refused.unwrap_or_default().len());
        }
        let longest = filled(&"{{ comment }}".repeat(17)).map(|text| text.len());
        assert_eq!(longest, Ok(17 * 60_000));
    }
}
