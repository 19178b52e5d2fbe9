//! The parameters of an extension as a form, built from their declarations. Values are checked in
//! `extensions/parameters.rs`.

use askama::Template;
use host_interface::{LoadedPlugin, Parameter, ParameterKind};
use serde_json::Value;

use crate::base::text::capitalised;
use crate::extensions::parameters::{self, Rejection};
use crate::site::operations::extensions as operations;

use super::extensions::Extension;
use crate::admin::form::{self, Form};
use crate::admin::problem::Problem;
use crate::admin::view::{Field, Layout, Notice, Tabs, View, YES_OR_NO, sentence, show};
use crate::admin::visit::{Outcome, Visit};

/// Text that may be longer than this is entered in a multi-line field.
const LINE: usize = 254;

#[derive(Template)]
#[template(path = "admin/parameters.html")]
struct ParametersPage {
    layout: Layout,
    tabs: Option<Tabs>,
    extension: Extension,
    lines: Vec<Line>,
    /// A hash of the parameters when the form was opened.
    seen: String,
    may_change: bool,
}

/// A parameter in the form.
struct Line {
    field: Field,
    name: String,
    /// Whether the site has set it.
    set: bool,
    /// Whether its default is to be restored.
    unset: bool,
    /// Its default, in the form in which it is entered.
    default: String,
    secret: bool,
}

/// A parameter with its current value.
struct Known<'a> {
    parameter: &'a Parameter,
    /// The value that the site has set.
    set: Option<Value>,
}

impl Known<'_> {
    fn effective(&self) -> &Value {
        let set = self.set.as_ref().filter(|value| self.parameter.admits(value));
        set.unwrap_or(&self.parameter.default)
    }
}

/// The entered value of a parameter.
#[derive(Default)]
struct Entered {
    text: String,
    unset: bool,
    fault: String,
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let (known, _) = known(&visit)?;
    let entered = known.iter().map(|known| {
        let text = written(known.parameter.kind, known.effective());
        Entered { text, ..Entered::default() }
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
        let notice = "Another user has changed these parameters in the meantime. If you save \
                      now, your values replace theirs.";
        let layout = visit.layout("").with_notice(Notice::bad(notice));
        return Ok(Outcome::Again(form_with(&visit, layout, &known, entered).await?));
    }
    let mut changes: Vec<(&str, Option<Value>)> = Vec::new();
    for (known, entered) in known.iter().zip(&mut entered) {
        let parameter = known.parameter;
        // A secret is not in the form, so an empty field keeps it.
        if is_secret(parameter) && entered.text.is_empty() && !entered.unset {
            continue;
        }
        let wanted = (!entered.unset).then(|| parameters::entered(parameter.kind, &entered.text));
        // A default that is sent unchanged does not become a value of the site.
        let kept = match &wanted {
            None => known.set.is_none(),
            Some(value) => value == known.effective(),
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
        let layout = visit.layout("").with_notice(Notice::bad("Nothing was saved. See below."));
        return Ok(Outcome::Again(form_with(&visit, layout, &known, entered).await?));
    }
    let to = format!("/extensions/{name}/parameters");
    if changes.is_empty() {
        return Ok(Outcome::unchanged(&to));
    }
    let recorded = operations::change_parameters(&visit.site, name, &changes).await?;
    let message = match changes.as_slice() {
        [(one, _)] => format!("{} was changed and is now in effect.", label(one)),
        some => format!("{} parameters were changed and are now in effect.", some.len()),
    };
    Ok(Outcome::done(recorded, &to, message))
}

impl Entered {
    fn of(form: &Form, parameter: &Parameter) -> Self {
        Self {
            // Browsers send line breaks as CR LF.
            text: form.get(&field_name(&parameter.name)).replace("\r\n", "\n"),
            unset: form.all("unset").any(|name| name == parameter.name),
            fault: String::new(),
        }
    }
}

/// The parameters of the page's extension, with the plugin.
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
        field: field(known, &entered),
        name: known.parameter.name.clone(),
        set: known.set.is_some(),
        unset: entered.unset,
        default: written(known.parameter.kind, &known.parameter.default),
        secret: is_secret(known.parameter),
    });
    show(&ParametersPage {
        layout: Layout { title: format!("Parameters of {}", extension.name), ..layout },
        tabs: extension.tabs("Parameters"),
        lines: lines.collect(),
        seen: fingerprint(known),
        may_change: visit.is_admin(),
        extension,
    })
}

fn field(known: &Known<'_>, entered: &Entered) -> Field {
    let Parameter { name, kind, limits, description, .. } = known.parameter;
    let (called, label) = (field_name(name), label(name));
    let field = match kind {
        ParameterKind::Text if !limits.choices.is_empty() => {
            Field::choice(called, label, limits.choices.iter().map(|choice| (choice, choice)))
        }
        ParameterKind::Text if limits.length.is_none_or(|length| length > LINE) => {
            Field::area(called, label).maybe_empty().longest(limits.length)
        }
        ParameterKind::Integer => {
            Field::number(called, label, limits.least.clone(), limits.greatest.clone())
        }
        ParameterKind::Flag => Field::choice(called, label, YES_OR_NO),
        ParameterKind::Decimal => Field::text(called, label),
        ParameterKind::IntegerList => Field::text(called, label).maybe_empty().longest(None),
        ParameterKind::Secret => {
            Field::password(called, label).maybe_empty().longest(limits.length)
        }
        // Text of one line, and kinds of later versions of the contract.
        _ => Field::text(called, label).maybe_empty().longest(limits.length),
    };
    let hint = match kind {
        ParameterKind::IntegerList => format!("{description} Separate them with commas."),
        ParameterKind::Secret if !entered.text.is_empty() => {
            format!("{description} Enter it again: what was entered is not shown.")
        }
        ParameterKind::Secret if known.set.is_some() => {
            format!("{description} It is set and never shown; leave the field empty to keep it.")
        }
        _ => description.clone(),
    };
    let fault = Some(entered.fault.as_str()).filter(|fault| !fault.is_empty());
    let shown = if is_secret(known.parameter) { "" } else { &entered.text };
    field.code(name.clone()).hint(hint).value(shown).fault(fault)
}

fn is_secret(parameter: &Parameter) -> bool {
    parameter.kind == ParameterKind::Secret
}

/// The name of a parameter's field; the prefix keeps it apart from other fields.
fn field_name(name: &str) -> String {
    format!("value-{name}")
}

/// The label of a parameter: its name as words.
fn label(name: &str) -> String {
    capitalised(&name.replace('_', " "))
}

/// A value in the form in which it is entered.
fn written(kind: ParameterKind, value: &Value) -> String {
    match (kind, value) {
        (ParameterKind::Secret, _) => String::new(),
        (ParameterKind::IntegerList, Value::Array(members)) => {
            members.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
        }
        (_, Value::String(text)) => text.clone(),
        (_, value) => value.to_string(),
    }
}

/// A hash that shows whether the parameters have changed. Of a secret it only shows whether it is set,
/// because a short secret could be guessed from a hash. A form keeps it unless another one is entered.
fn fingerprint(known: &[Known<'_>]) -> String {
    let value = |known: &Known<'_>| {
        let set = match &known.set {
            Some(_) if is_secret(known.parameter) => "set".to_owned(),
            set => set.as_ref().map(Value::to_string).unwrap_or_default(),
        };
        format!("{}={set}", known.parameter.name)
    };
    form::fingerprint(known.iter().map(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_has_a_suitable_field() {
        use ParameterKind::{Decimal, Flag, Integer, IntegerList, Secret, Text};
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
            (parameter(Secret).max_length(9), "type=\"password\" value=\"\" autocomplete="),
        ] {
            let entered = Entered::default();
            let known = Known { parameter: &parameter, set: None };
            let html = field(&known, &entered).render().unwrap_or_default();
            assert!(html.contains(expected), "{expected} in {html}");
        }
    }

    #[test]
    fn a_secret_is_in_no_form() {
        let parameter = Parameter::secret("key", "The key.");
        let form = |text: &str, set: Option<&str>| {
            let known = Known { parameter: &parameter, set: set.map(Value::from) };
            let entered = Entered { text: text.to_owned(), ..Entered::default() };
            let html = field(&known, &entered).render().unwrap_or_default();
            (html, fingerprint(&[known]))
        };
        let (unset, set, again) = (form("", None), form("", Some("one")), form("two", Some("one")));
        assert!(set.0.contains("leave the field empty") && !unset.0.contains("leave"));
        assert!(again.0.contains("Enter it again"));
        assert!([&unset, &set, &again].iter().all(|(html, _)| html.contains("value=\"\"")));
        // A hash of it is in no form either.
        assert!(set.1 == form("", Some("two")).1 && set.1 != unset.1);
    }

    #[test]
    fn a_displayed_value_is_read_back_unchanged() {
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
