//! A running host follows what the command line changes.

use crate::support::harness::Answer;
use crate::support::process::{MANUFACTURERS, Place};
use crate::support::waiting::eventually;

#[tokio::test]
async fn a_running_host_follows_changes_of_users_and_tokens() {
    let (place, token) = Place::with_ann("Manager").await;
    let served = place.serve().await;
    served.until(200, MANUFACTURERS, &token).await;
    for (command, status) in
        [("user block ann", 401), ("user unblock ann", 200), ("token revoke ann", 401)]
    {
        place.run(command).await;
        served.until(status, MANUFACTURERS, &token).await;
    }
    let first = place.run("token generate ann").await;
    served.until(200, MANUFACTURERS, first.trim()).await;
    let second = place.run("token generate ann").await;
    served.until(401, MANUFACTURERS, first.trim()).await;
    served.until(200, MANUFACTURERS, second.trim()).await;
    place.run("user remove ann").await;
    served.until(401, MANUFACTURERS, second.trim()).await;
    served.stop().await;
}

#[tokio::test]
async fn a_running_host_follows_changes_of_permissions_extensions_and_parameters() {
    let (place, token) = Place::with_ann("Manager").await;
    let served = place.serve().await;
    served.until(200, MANUFACTURERS, &token).await;
    for (command, status) in [
        ("permission set Manager store.view com_shop.manufacturers deny", 403),
        ("permission set Manager store.view com_shop.manufacturers inherit", 200),
        ("permission set Public core.login.api root deny", 401),
        ("permission set Public core.login.api root inherit", 200),
        ("extension disable webservices-shop", 404),
        ("extension enable webservices-shop", 200),
        ("extension disable token-auth", 401),
        ("extension enable token-auth", 200),
    ] {
        place.run(command).await;
        served.until(status, MANUFACTURERS, &token).await;
    }

    // The store's default currency cannot be deleted, and a parameter determines it.
    let administrator = place.user("eve", "Administrator").await;
    let currencies = "/api/index.php/v1/shop/currencies";
    let find = format!("{currencies}?list[ordering]=currency_code&page[limit]=100");
    let euro = served.until(200, &find, &administrator).await;
    let list = euro.json()["data"].as_array().unwrap().clone();
    let [euro, franc] = ["EUR", "CHF"].map(|code| {
        let found = list.iter().find(|record| record["attributes"]["currency_code"] == code);
        found.map(|record| record["id"].as_str().unwrap().to_owned()).unwrap()
    });
    let delete =
        || Answer::to(served.ask("DELETE", &format!("{currencies}/{euro}"), &administrator));
    delete().await.expect(422);
    let enable = served.ask("PATCH", &format!("{currencies}/{franc}"), &administrator);
    let enable = enable.header("content-type", "application/json").body(r#"{"enabled": 1}"#);
    Answer::to(enable).await.expect(200);
    place.call("config set default_currency").word("\"CHF\"").finish().await.succeeds();
    eventually("the euro is a currency like any other", async || {
        (delete().await.status == 204).then_some(())
    })
    .await;
    served.stop().await;
}
