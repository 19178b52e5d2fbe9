//! The options of demonstration data that extensions declare, and the values given to them. What an
//! option means is defined by its extension.

use host_interface::{Description, Parameter};
use serde_json::{Map, Value};

use crate::base::error::Error;
use crate::extensions::parameters::full_name;

/// An option of demonstration data.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoOption {
    /// Its name; with the name of its extension and a slash before it if several extensions have an
    /// option of that name.
    pub name: String,
    /// Its type, limits and default.
    pub parameter: Parameter,
}

/// The options of all these extensions, in the order of declaration.
pub(crate) fn options(descriptions: &[&Description]) -> Vec<DemoOption> {
    let own = |of: &&Description| {
        let named = |option: &Parameter| DemoOption {
            name: name(descriptions, of, option),
            parameter: option.clone(),
        };
        of.demo_options.iter().map(named).collect::<Vec<DemoOption>>()
    };
    descriptions.iter().flat_map(own).collect()
}

/// For each extension the values of all its options: the chosen ones, else the defaults.
pub(crate) fn values(
    descriptions: &[&Description],
    chosen: &Map<String, Value>,
) -> Result<Vec<Map<String, Value>>, Error> {
    let options = options(descriptions);
    for (name, value) in chosen {
        let option = options.iter().find(|option| option.name == *name);
        let DemoOption { parameter, .. } =
            option.ok_or_else(|| Error::not_found("option", name))?;
        if !parameter.admits(value) {
            let expected = parameter.expectation();
            return Err(Error::Invalid(format!("{name} must be {expected}, not {value}")));
        }
    }
    let own = |of: &&Description| {
        let value = |option: &Parameter| {
            let value = chosen.get(&name(descriptions, of, option)).unwrap_or(&option.default);
            (option.name.clone(), value.clone())
        };
        of.demo_options.iter().map(value).collect()
    };
    Ok(descriptions.iter().map(own).collect())
}

fn name(descriptions: &[&Description], of: &Description, option: &Parameter) -> String {
    let has = |of: &&&Description| of.demo_options.iter().any(|other| other.name == option.name);
    match descriptions.iter().filter(has).count() {
        0 | 1 => option.name.clone(),
        _ => full_name(&of.name, &option.name),
    }
}

#[cfg(test)]
mod tests {
    use host_interface::ParameterKind;
    use serde_json::json;

    use super::*;

    fn extension(name: &str, options: &[&str]) -> Description {
        let option =
            |name: &&str| Parameter::new(*name, ParameterKind::Integer, 3, "How many.").at_least(0);
        let mut description = Description::new("1.0.0").demo_options(options.iter().map(option));
        description.name = name.to_owned();
        description
    }

    fn chosen(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn each_extension_has_a_value_for_each_of_its_options() {
        let (bakery, zoo) = (extension("bakery", &["loaves", "days"]), extension("zoo", &["days"]));
        let both = [&bakery, &zoo];
        let names: Vec<String> = options(&both).into_iter().map(|option| option.name).collect();
        assert_eq!(names, ["loaves", "bakery/days", "zoo/days"]);
        let values = |given: Value| {
            values(&both, &chosen(given))
                .map(|values| json!(values))
                .map_err(|error| error.to_string())
        };
        assert_eq!(values(json!({})), Ok(json!([{"loaves": 3, "days": 3}, {"days": 3}])));
        assert_eq!(
            values(json!({"loaves": 0, "zoo/days": 9})),
            Ok(json!([{"loaves": 0, "days": 3}, {"days": 9}]))
        );
        assert_eq!(
            values(json!({"days": 1})),
            Err("there is no option called \"days\"".to_owned())
        );
        assert_eq!(
            values(json!({"loaves": -1})),
            Err("loaves must be a whole number, at least 0, not -1".to_owned())
        );
    }
}
