//! The parameters of an extension as a form, made from what the extension declares. Which values a
//! parameter takes is asked of `parameters.rs`; here is only how they are written in a form.

use askama::Template;
use host_interface::{LoadedPlugin, Parameter, ParameterKind};
use serde_json::Value;

use crate::extensions::parameters::{self, Rejection};
use crate::site::state::change;

use super::extensions::Extension;
use crate::admin::authority::Authority;
use crate::admin::form::{self, Form};
use crate::admin::place::href;
use crate::admin::problem::Problem;
use crate::admin::view::show;
use crate::admin::view::{Field, Layout, Notice, Tabs, View, sentence};
use crate::admin::visit::{Change, Outcome, Visit};

/// Text of more characters than this is not entered in one line.
const LINE: usize = 254;

#[derive(Template)]
#[template(path = "admin/parameters.html")]
struct Page {
    layout: Layout,
    tabs: Option<Tabs>,
    extension: Extension,
    lines: Vec<Line>,
    /// What the parameters were when the form was made.
    seen: String,
    may_change: bool,
}

/// A parameter in the form.
struct Line {
    field: Field,
    name: String,
    /// Whether the site has set it.
    set: bool,
    /// Whether it is to have its default again.
    unset: bool,
    /// Its default, as it would be entered.
    default: String,
}

/// A parameter as it is.
struct Known<'a> {
    parameter: &'a Parameter,
    /// What the site has set.
    set: Option<Value>,
}

impl Known<'_> {
    fn in_force(&self) -> &Value {
        let set = self.set.as_ref().filter(|value| self.parameter.admits(value));
        set.unwrap_or(&self.parameter.default)
    }
}

/// What somebody wants a parameter to be.
struct Entered {
    text: String,
    unset: bool,
    fault: String,
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let (known, _) = known(&visit)?;
    let entered = known.iter().map(|known| Entered {
        text: written(known.parameter.kind, known.in_force()),
        unset: false,
        fault: String::new(),
    });
    let entered = entered.collect();
    form_with(&visit, visit.layout(""), &known, entered).await
}

pub(crate) async fn save(visit: Visit) -> Result<Outcome, Problem> {
    let (known, plugin) = known(&visit)?;
    let name = visit.params.first().ok_or(Problem::NotFound)?;
    let mut entered: Vec<Entered> =
        known.iter().map(|known| Entered::of(&visit.form, known.parameter)).collect();
    if visit.form.get("seen") != fingerprint(&known) {
        let notice = "Somebody has changed these parameters in the meantime. If you save now, your \
                      values replace theirs.";
        let layout = visit.layout("").saying(Notice::bad(notice));
        return Ok(Outcome::Again(form_with(&visit, layout, &known, entered).await?));
    }
    let mut changes: Vec<(&str, Option<Value>)> = Vec::new();
    for (known, entered) in known.iter().zip(&mut entered) {
        let parameter = known.parameter;
        let wanted = match entered.unset {
            true => None,
            false => Some(parameters::entered(parameter.kind, &entered.text)),
        };
        // What a form shows of a default is not to become the site's own by being sent again.
        let kept = match &wanted {
            None => known.set.is_none(),
            Some(value) => value == known.in_force(),
        };
        if kept {
            continue;
        }
        match parameters::rejection(name, plugin, parameter, wanted.as_ref()).await? {
            None => changes.push((&parameter.name, wanted)),
            Some(Rejection::Kind(expected)) => {
                entered.fault = format!("The value must be {expected}.")
            }
            Some(Rejection::Refused(why)) => entered.fault = sentence(&why),
        }
    }
    if entered.iter().any(|entered| !entered.fault.is_empty()) {
        let layout = visit.layout("").saying(Notice::bad("Nothing was saved. See below."));
        return Ok(Outcome::Again(form_with(&visit, layout, &known, entered).await?));
    }
    let to = href(&format!("/extensions/{name}/parameters"));
    if changes.is_empty() {
        return Ok(Outcome::Unchanged { to, says: "Nothing was changed.".to_owned() });
    }
    let names: Vec<&str> = changes.iter().map(|(name, _)| *name).collect();
    let recorded = change!(visit.site.state(), |transaction| {
        Authority::of(&visit, transaction).await?;
        for (parameter, value) in &changes {
            parameters::put(transaction, name, parameter, value.as_ref()).await?;
        }
        let record = format!("extension {name}: {}", names.join(", "));
        visit.record(transaction, Change { what: "change parameters", record }).await
    })?;
    let says = match names.as_slice() {
        [one] => format!("{} was changed and is in force.", label(one)),
        some => format!("{} parameters were changed and are in force.", some.len()),
    };
    Ok(Outcome::Done { recorded, to, says })
}

impl Entered {
    fn of(form: &Form, parameter: &Parameter) -> Self {
        Self {
            // A browser ends lines in its own way.
            text: form.get(&field_name(&parameter.name)).replace("\r\n", "\n"),
            unset: form.all("unset").any(|name| name == parameter.name),
            fault: String::new(),
        }
    }
}

/// The parameters of the extension that a page is about, with the extension.
fn known(visit: &Visit) -> Result<(Vec<Known<'_>>, &LoadedPlugin), Problem> {
    let name = visit.params.first().ok_or(Problem::NotFound)?;
    let (description, plugin, _) = visit.site.loaded(name).ok_or(Problem::NotFound)?;
    if description.parameters.is_empty() {
        return Err(Problem::NotFound);
    }
    let snapshot = visit.site.state().snapshot();
    let known = description.parameters.iter().map(|parameter| Known {
        parameter,
        set: snapshot.parameters.set(name, &parameter.name).cloned(),
    });
    Ok((known.collect(), plugin))
}

async fn form_with(
    visit: &Visit,
    layout: Layout,
    known: &[Known<'_>],
    entered: Vec<Entered>,
) -> Result<View, Problem> {
    let extension = Extension::asked_for(visit).await?;
    let lines = known.iter().zip(entered).map(|(known, entered)| Line {
        field: field(known.parameter, &entered),
        name: known.parameter.name.clone(),
        set: known.set.is_some(),
        unset: entered.unset,
        default: written(known.parameter.kind, &known.parameter.default),
    });
    show(&Page {
        layout: Layout { title: format!("Parameters of {}", extension.name), ..layout },
        tabs: extension.tabs("Parameters"),
        lines: lines.collect(),
        seen: fingerprint(known),
        may_change: visit.is_admin(),
        extension,
    })
}

fn field(parameter: &Parameter, entered: &Entered) -> Field {
    let Parameter { name, kind, limits, description, .. } = parameter;
    let (called, label) = (field_name(name), label(name));
    let field = match kind {
        ParameterKind::Text if !limits.choices.is_empty() => {
            let choice = |choice: &String| (choice.clone(), choice.clone());
            Field::choice(called, label, limits.choices.iter().map(choice).collect())
        }
        ParameterKind::Text if limits.length.is_none_or(|length| length > LINE) => {
            Field::area(called, label).maybe_empty().longest(limits.length)
        }
        ParameterKind::Text => Field::text(called, label).maybe_empty().longest(limits.length),
        ParameterKind::Integer => {
            Field::number(called, label, limits.least.clone(), limits.greatest.clone())
        }
        ParameterKind::Flag => {
            let choices = [("1", "Yes"), ("0", "No")];
            let choices = choices.map(|(value, called)| (value.to_owned(), called.to_owned()));
            Field::choice(called, label, choices.to_vec())
        }
        ParameterKind::Decimal => Field::text(called, label),
        ParameterKind::IntegerList => Field::text(called, label).maybe_empty().longest(None),
    };
    let hint = match kind {
        ParameterKind::IntegerList => format!("{description} Separate them with commas."),
        _ => description.clone(),
    };
    let fault = Some(entered.fault.as_str()).filter(|fault| !fault.is_empty());
    field.code(name.clone()).hint(hint).value(entered.text.as_str()).fault(fault)
}

/// What a parameter is called in the form. Its own name might be that of another field.
fn field_name(name: &str) -> String {
    format!("value-{name}")
}

/// The name of a parameter as people write.
fn label(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A value as it is entered.
fn written(kind: ParameterKind, value: &Value) -> String {
    match (kind, value) {
        (ParameterKind::IntegerList, Value::Array(members)) => {
            members.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
        }
        (_, Value::String(text)) => text.clone(),
        (_, value) => value.to_string(),
    }
}

/// What tells whether parameters have changed.
fn fingerprint(known: &[Known<'_>]) -> String {
    let value = |known: &Known<'_>| {
        let set = known.set.as_ref().map(Value::to_string).unwrap_or_default();
        format!("{}={set}", known.parameter.name)
    };
    form::fingerprint(known.iter().map(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_has_a_field_that_suits_it() {
        use ParameterKind::{Decimal, Flag, Integer, IntegerList, Text};
        let parameter = |kind| Parameter::new("it", kind, Value::Null, "What it is.");
        for (parameter, expected) in [
            (
                parameter(Text).max_length(9),
                "type=\"text\" value=\"\" autocomplete=\"off\" maxlength=\"9\"",
            ),
            (parameter(Text), "<textarea id=\"value-it\""),
            (parameter(Text).one_of(["pre", "post"]), "<option value=\"post\">post</option>"),
            (parameter(Flag), "<option value=\"0\">No</option>"),
            (parameter(Integer).at_least(1).at_most(5), "required min=\"1\" max=\"5\""),
            (parameter(Decimal), "type=\"text\""),
            (parameter(IntegerList), "What it is. Separate them with commas."),
        ] {
            let entered = Entered { text: String::new(), unset: false, fault: String::new() };
            let html = field(&parameter, &entered).render().unwrap_or_default();
            assert!(html.contains(expected), "{expected} in {html}");
        }
    }

    #[test]
    fn a_value_is_entered_as_it_was_written() {
        use ParameterKind::{Decimal, Flag, Integer, IntegerList, Text};
        for (kind, value) in [
            (Text, json!("")),
            (Text, json!(" 1 \n2")),
            (Integer, json!(-5)),
            (Flag, json!(1)),
            (Decimal, json!("19.50")),
            (IntegerList, json!([])),
            (IntegerList, json!([7, 1])),
        ] {
            assert_eq!(parameters::entered(kind, &written(kind, &value)), value);
        }
        assert_eq!(parameters::entered(IntegerList, "1,2  3,\n4"), json!([1, 2, 3, 4]));
        assert_eq!(parameters::entered(Integer, " 12 "), json!(12));
        for (kind, text) in [(Integer, "1.5"), (Integer, ""), (IntegerList, "1, x"), (Flag, "yes")]
        {
            assert!(!kind.admits(&parameters::entered(kind, text)), "{kind:?}: {text:?}");
        }
        assert_eq!(label("low_stock_threshold"), "Low stock threshold");
    }
}
