//! A person's data as it crosses: what a plugin is asked for, and what a plugin without a map and a host without the
//! capability answer.

use std::sync::{Arc, Mutex};

use host_interface::{
    Environment, Erased, ErasedEverywhere, Erasure, Error, Host, LoadedPlugin, LogRecord, Person,
    PersonalData, Privacy, capability,
};
use serde_json::{Map, json};

use crate::support::harness::fixture;

/// A host that offers nothing.
struct Bare;

impl Host for Bare {
    fn log(&self, _record: &LogRecord<'_>) {}
}

/// A host that hashes addresses without a key, and counts how often persons are erased again.
#[derive(Clone, Default)]
struct Careful(Arc<Mutex<u64>>);

impl Host for Careful {
    fn email_hash(&self, email: &str) -> Result<String, Error> {
        Ok(format!("hash of {}", email.trim().to_lowercase()))
    }

    async fn erase_again(self: Arc<Self>) -> Result<u64, Error> {
        let mut count = self.0.lock().unwrap();
        *count += 1;
        Ok(*count)
    }

    fn log(&self, _record: &LogRecord<'_>) {}
}

fn create(name: &str, host: impl Host, folder: &std::path::Path) -> LoadedPlugin {
    let library = host_interface::open(&fixture(name)).unwrap();
    let url = format!("sqlite://{}", folder.join("fixture.db").display());
    library.create(host, &Environment::new(url).capabilities([capability::PRIVACY])).unwrap()
}

#[tokio::test]
async fn a_map_is_described_and_a_part_is_copied_and_erased() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = create("contacts", Careful::default(), folder.path());
    let places =
        [PersonalData::new("people", "names and addresses", "letters", "until they are erased")];
    let map = Privacy::new("contacts.privacy", "root").places(places);
    assert_eq!(plugin.describe().unwrap().privacy, Some(map));
    let file = folder.path().join("contacts.json");
    let ann = json!([{"name": "Ann", "email": "Ann@example.com", "user": 7, "open": true}]);
    std::fs::write(&file, ann.to_string()).unwrap();

    let copy = async |person: &Person| plugin.export_person(person).await?.text().await;
    assert_eq!(copy(&Person::of_email("bob@example.com")).await.as_deref(), Ok("{}"));
    let hash = Person::of_email_hash("hash of ann@example.com");
    for person in [Person::of_email(" ANN@example.com"), Person::of_user(7), hash] {
        assert_eq!(copy(&person).await, Ok(json!({ "people": ann }).to_string()));
    }
    let erase = async |erasure: &Erasure| plugin.erase_person(erasure).await.unwrap();
    let erasure = Erasure::new(Person::of_user(7), "asked");
    let counts = json!({"counts": {"people": 1}, "remaining": {}, "open": ["contact 7"]});
    for (erasure, is_refused) in [
        (erasure.clone(), true),
        (erasure.clone().force().dry_run(), false),
        (erasure.clone().force(), false),
    ] {
        assert!(std::fs::read_to_string(&file).unwrap().contains("Ann"));
        let erased = erase(&erasure).await;
        assert_eq!(json!(erased), counts);
        assert_eq!(erased.is_refused(&erasure), is_refused);
    }
    assert!(!std::fs::read_to_string(&file).unwrap().contains("Ann"));
    assert_eq!(erase(&erasure).await, Erased::default(), "again is no error");
}

#[tokio::test]
async fn a_plugin_without_a_map_has_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = create("greeter", Bare, folder.path());
    assert_eq!(plugin.describe().unwrap().privacy, None);
    let why = Error::Contract("there is no map of personal data".to_owned());
    let copied = plugin.export_person(&Person::of_user(7)).await;
    assert_eq!(copied.map(drop).map_err(|error| error.to_string()), Err(why.to_string()));
    let erased = plugin.erase_person(&Erasure::new(Person::of_user(7), "asked")).await;
    assert_eq!(erased.map_err(|error| error.to_string()), Err(why.to_string()));
}

#[tokio::test]
async fn a_host_without_the_capability_answers_that_it_is_unsupported() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = create("contacts", Bare, folder.path());
    let again = plugin.command("restored", Map::new(), ()).await.unwrap_err();
    assert!(matches!(again, Error::Unsupported(_)), "{again:?}");
    let host = Careful::default();
    let plugin = create("contacts", host.clone(), folder.path());
    for number in 1..=2 {
        let output = plugin.command("restored", Map::new(), ()).await.unwrap();
        assert_eq!(output.lines, [format!("{number} persons were erased again")]);
    }
    assert_eq!(*host.0.lock().unwrap(), 2);
}

#[test]
fn what_was_erased_everywhere_names_everything_that_is_not_completed() {
    let mut everywhere = ErasedEverywhere::default();
    for (part, open) in [("shop", vec!["order 7", "order 9"]), ("till", vec!["bill 3"])] {
        let mut erased = Erased::default();
        erased.open = open.into_iter().map(str::to_owned).collect();
        everywhere.parts.insert(part.to_owned(), erased);
    }
    assert_eq!(everywhere.open().collect::<Vec<_>>(), ["order 7", "order 9", "bill 3"]);
    assert!(Person::default().is_unknown() && !Person::of_user(7).is_unknown());
}
