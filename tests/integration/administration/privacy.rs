//! The page about a person's data: who sees it, and that what it finds, copies and erases is that of the whole site.

use example_host::{Force, Setting};
use serde_json::{Value, json};

use crate::support::harness::{Shop, fixture};
use crate::support::ledger::Client;
use crate::support::process::{Place, Served};
use crate::support::visitor::{PASSWORD, Visitor};
use crate::support::waiting::eventually;

/// Makes the last entry of the password expire.
const LATE: &str = "UPDATE host_sessions SET confirmed_on = '2020-01-01T00:00:00'";
/// Finds the daily job if it has run.
const RETAINED: &str = "SELECT name FROM host_jobs WHERE name = 'retain' AND ended > 0";

/// A site with a person who is a user and a contact, and an administrator.
async fn place() -> Place {
    let place = Place::with([fixture("contacts"), fixture("greeter")]);
    place.add_administrator("ann", PASSWORD).await;
    place.user("quinx", "Manager").await;
    let contact = json!([{"name": "Quinx", "email": "quinx@example.com", "user": 0, "open": true}]);
    std::fs::write(place.data("contacts.json"), contact.to_string()).unwrap();
    place
}

async fn ann(served: &Served) -> Visitor {
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    ann.get("/privacy").await;
    ann
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn only_users_with_the_permission_of_every_map_see_the_page() {
    let shop = Shop::open().await;
    let mut superuser = Visitor::signed_in(&shop, "superuser").await;
    superuser.get("/").await.says("href=\"/administrator/privacy\"");
    superuser.get("/privacy").await.says("Where personal data is kept");
    let mut administrator = Visitor::signed_in(&shop, "administrator").await;
    administrator.get("/").await.says("href=\"/administrator/privacy\"");
    let rule = ("store.privacy", "com_shop");
    shop.site.set_rule("Administrator", rule.0, rule.1, Setting::Deny, Force::No).await.unwrap();
    assert!(!administrator.get("/").await.html.contains("/administrator/privacy"));
    for page in ["/privacy", "/privacy/retention", "/privacy/export", "/privacy/erase"] {
        assert_eq!(administrator.get(page).await.status, 404);
        administrator.get("/account").await;
        let fields = [("email", "registered@example.com"), ("reason", "asked")];
        assert_eq!(administrator.post(page, &fields).await.status, 404);
    }
    assert!(shop.site.user("registered").await.is_ok());
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_page_lists_the_places_of_every_map_and_the_extensions_without_one() {
    let place = place().await;
    let served = place.serve().await;
    let page = ann(&served).await.get("/privacy").await;
    page.says("is neither copied nor erased here: greeter</p>");
    for place in ["users", "tokens", "sessions", "mails", "trail", "log", "people"] {
        page.says(&format!("<th scope=\"row\">{place}</th>"));
    }
    page.says("<caption>contacts</caption>");
    served.stop().await;
}

#[tokio::test]
async fn what_is_kept_no_longer_is_counted_on_the_page_and_stays() {
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    let token = place.user("bob", "Administrator").await;
    place.run("config set retention_closed_months 12").await;
    let served = place.serve().await;
    let client = Client::of(&served, &token);
    // What is made later, the host leaves until tomorrow.
    eventually("the job has run", async || {
        place.database.texts_at(&place.site_url(), RETAINED).await.pop()
    })
    .await;
    let order = json!({
        "user_email": "quinx@example.com", "billing_last_name": "Quinx", "order_state_id": 8,
        "created_on": "2019-02-03T04:05:06",
        "items": [{"orderitem_name": "Lamp", "orderitem_price": "5.00"}],
    });
    client.create("/orders", order).await;
    let mut ann = ann(&served).await;
    let page = ann.get("/privacy").await;
    page.says("href=\"/administrator/extensions/webservices-shop/parameters\"");
    assert!(!page.html.contains("closed orders"), "nothing is counted unless it is asked for");
    let counted = ann.post("/privacy/retention", &[]).await;
    assert_eq!(counted.status, 200);
    counted.says("What webservices-shop would remove now");
    for [what, records, months] in [
        ["closed orders", "1", "12"],
        ["other orders", "0", "0"],
        ["customers without orders", "0", "0"],
    ] {
        counted.says(&format!(
            "<tr><th scope=\"row\">{what}</th><td data-label=\"Records\">{records}</td>\
             <td data-label=\"Months\">{months}</td></tr>"
        ));
    }
    assert_eq!(client.all("/orders?filter[search]=quinx").await.len(), 1);
    served.stop().await;
    // The command counts the same, and neither is an entry in the trail.
    let counted: Value = serde_json::from_str(&place.run("retain --dry-run --json").await).unwrap();
    let closed = counted.as_array().unwrap().iter().find(|row| row["what"] == "closed orders");
    assert_eq!(closed, Some(&json!({"what": "closed orders", "records": 1, "months": 12})));
    assert!(!place.run("audit export").await.contains("remove what is kept no longer"));
    place.run("retain").await;
    assert!(place.run("audit export").await.contains("remove what is kept no longer"));
}

#[tokio::test]
async fn a_person_is_found_copied_and_erased_on_the_page() {
    let place = place().await;
    let served = place.serve_with(&[("HOST_LOG", "debug")]).await;
    let mut ann = ann(&served).await;
    let quinx = ("email", " QUINX@example.com");
    let found = ann.post("/privacy", &[quinx, ("user", "")]).await;
    assert_eq!(found.status, 200);
    found.says("Found: QUINX@example.com");
    found.says("<th scope=\"row\">people</th><td data-label=\"Part\">contacts</td><td data-label=\"Records\">1</td>");
    found.says("<th scope=\"row\">users</th><td data-label=\"Part\">host</td><td data-label=\"Records\">1</td>");
    found.says("Not completed: contact 0");
    let by_user = ann.post("/privacy", &[("email", ""), ("user", "Quinx")]).await;
    by_user.says("<th scope=\"row\">people</th>");

    let copy = ann.post("/privacy/export", &[quinx]).await;
    assert_eq!(copy.status, 200, "{}", copy.html);
    assert_eq!(copy.headers["content-disposition"], "attachment; filename=\"person.json\"");
    let copy: Value = serde_json::from_str(&copy.html).unwrap();
    assert_eq!(copy["parts"]["host"]["users"][0]["username"], "quinx");

    ann.get("/privacy").await;
    for (fields, why) in [
        (vec![quinx], "An erasure needs a reason"),
        (vec![quinx, ("reason", "asked")], "because something is not completed"),
        (vec![("user", "nobody"), ("reason", "asked")], "There is no user called"),
        (vec![("reason", "asked")], "A person is named by"),
        (vec![quinx, ("reason", "quinx")], "must not contain a name"),
        (vec![("user", "ann"), ("reason", "asked")], "You cannot erase yourself"),
    ] {
        let seen = ann.post("/privacy/erase", &fields).await;
        assert_eq!(seen.status, 422, "{}", seen.html);
        seen.says(why);
    }
    assert!(place.run("user list").await.contains("quinx@example.com"));

    // After some absence, the password is asked for, and the erasure continues afterwards.
    place.database.texts_at(&place.site_url(), LATE).await;
    let asked = ann.post("/privacy/export", &[quinx]).await;
    assert_eq!(asked.status, 403);
    asked.says("Confirm your password");
    let whole = [quinx, ("reason", "asked"), ("keep_until", ""), ("force", "yes")];
    let asked = ann.post("/privacy/erase", &whole).await;
    assert_eq!(asked.status, 403);
    asked.says("Confirm your password");
    let confirmed = [&whole[..], &[("confirmation", PASSWORD)]].concat();
    let erased = ann.post("/privacy/erase", &confirmed).await;
    assert_eq!(erased.status, 200, "{}", erased.html);
    erased.says("The person was erased.");
    erased.says("<td data-label=\"Records\">1</td><td data-label=\"Left\">0</td>");
    assert!(!place.run("user list").await.contains("quinx"));

    ann.get("/privacy").await;
    ann.post("/privacy", &[quinx]).await.says("There is nothing to erase.");
    let log = served.log.clone();
    served.stop().await;
    let leak = log.all().into_iter().find(|line| line.to_lowercase().contains("quinx@"));
    assert_eq!(leak, None);
    assert!(place.run("audit verify").await.contains(" entries verified"));
    let trail = place.run("audit export").await;
    assert!(trail.contains("\"erase a person: asked; host.groups 1, host.tokens 1, host.users 1"));
    assert!(!trail.to_lowercase().contains("quinx@"), "{trail}");
}
