//! Second factors: setting one up, the second step of a sign-in, trusted browsers, confirmations, recovery codes, who
//! has to have one, and removing one.

use std::collections::BTreeSet;
use std::time::Instant;

use example_host::{SecondFactors, ServerSettings};
use futures_util::future::join_all;

use crate::support::databases::{Database, LENGTHEN_WAITS};
use crate::support::harness::{Setup, Shop};
use crate::support::phone::{Phone, forget_codes, recovery_codes, set_up, turn_on};
use crate::support::process::Place;
use crate::support::visitor::{PASSWORD, Seen, Visitor, field, id};
use crate::support::waiting::eventually;

/// A shop with these settings.
async fn shop_with(server: ServerSettings) -> Shop {
    Shop::with(Setup { server, ..Setup::default() }).await
}

/// A shop behind a trusted proxy.
pub(super) async fn shop_behind_a_proxy() -> Shop {
    let proxies = vec!["127.0.0.1/32".parse().unwrap()];
    shop_with(ServerSettings { trusted_proxies: proxies, ..ServerSettings::default() }).await
}

async fn shop_where(second_factors: SecondFactors) -> Shop {
    shop_with(ServerSettings { second_factors, ..ServerSettings::default() }).await
}

/// A visitor who has entered the right password and is asked for a code.
async fn asked_for_a_code(shop: &Shop, username: &str) -> Visitor {
    let mut visitor = Visitor::of(&shop.url(""));
    enter_password(&mut visitor, username).await;
    visitor
}

async fn enter_password(visitor: &mut Visitor, username: &str) {
    let seen = visitor.sign_in(username, PASSWORD).await;
    assert_eq!((seen.status, seen.to()), (303, "/administrator/sign-in/code?next="));
}

async fn enter(visitor: &mut Visitor, code: &str) -> Seen {
    visitor.post("/sign-in/code", &[("code", code)]).await
}

/// What the trail has about the user, oldest first.
async fn trail(shop: &Shop, username: &str) -> Vec<String> {
    let all = "SELECT concat(username, ': ', what) FROM host_audit ORDER BY id";
    let own = format!("{username}: ");
    let entries = shop.database.texts(all).await;
    entries.iter().filter_map(|entry| Some(entry.strip_prefix(&own)?.to_owned())).collect()
}

/// Moves the time at which the password was entered last into the past.
async fn need_confirmation(shop: &Shop) {
    shop.database.execute("UPDATE host_sessions SET confirmed_on = '2020-01-01T00:00:00'").await;
}

#[tokio::test]
async fn a_second_factor_is_set_up_with_its_first_code_and_ends_the_other_sessions() {
    let shop = Shop::open().await;
    let mut other = Visitor::signed_in(&shop, "superuser").await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    ann.get("/account").await;
    assert!(ann.html.contains("/administrator/account/second-factor"));
    let page = ann.get("/account/second-factor").await;
    page.says("<svg class=\"qr\"");
    let phone = Phone::of(&page.html);
    assert_eq!(phone.key.len(), 32, "160 bits");
    let key = field(&page.html, "key").unwrap().to_owned();
    assert!(!key.contains(&phone.key));

    for wrong in ["", "000000", "12345", &phone.code(-2), &phone.code(3)] {
        let fields = [("key", key.as_str()), ("code", wrong)];
        let seen = ann.post("/account/second-factor", &fields).await;
        assert_eq!(seen.status, 422, "{wrong}");
        assert_eq!(Phone::of(&seen.html).key, phone.key, "the same key can be tried again");
    }
    assert!(!shop.site.user("superuser").await.unwrap().second_factor);
    // The key of another session, or none, is not accepted.
    let foreign = field(&other.get("/account/second-factor").await.html, "key").unwrap().to_owned();
    for wrong in [foreign.as_str(), "", "1.00000000.AAAA"] {
        ann.get("/account/second-factor").await;
        let fields = [("key", wrong), ("code", &phone.code(0))];
        assert_eq!(ann.post("/account/second-factor", &fields).await.status, 403, "{wrong}");
    }

    ann.get("/account/second-factor").await;
    let fields = [("key", key.as_str()), ("code", &phone.code(0))];
    let seen = ann.post("/account/second-factor", &fields).await;
    assert_eq!(seen.status, 200);
    let codes: BTreeSet<String> = recovery_codes(&seen.html).into_iter().collect();
    assert_eq!(codes.len(), 10);
    assert!(ann.is_in().await);
    assert!(!other.is_in().await, "a session of before has ended");
    assert!(shop.site.user("superuser").await.unwrap().second_factor);
    assert_eq!(ann.post("/account/second-factor", &fields).await.status, 303, "there is one");

    // Neither the key nor a code is kept as it is.
    let kept = shop.database.texts("SELECT sealed FROM host_second_factors").await;
    assert!(kept[0].starts_with("1.") && !kept[0].contains(&phone.key), "{kept:?}");
    assert_eq!(shop.database.number("SELECT count(*) FROM host_recovery_codes").await, 10);
    let entries = trail(&shop, "superuser").await;
    assert_eq!(entries.last().unwrap(), "turn on own second factor");
    assert!(!format!("{entries:?}").contains(&phone.key));
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_sign_in_asks_for_a_code_which_is_good_once() {
    let shop = Shop::open().await;
    let (mut ann, phone, _) = set_up(&shop, "superuser").await;
    ann.fill("/", "/sign-out", &[]).await;

    // Nothing is there before the password.
    let mut guest = Visitor::of(&shop.url(""));
    assert_eq!(guest.get("/sign-in/code").await.to(), "/administrator/sign-in");
    assert_eq!(enter(&mut guest, &phone.code(0)).await.to(), "/administrator/sign-in");
    assert!(!guest.is_in().await);

    let mut ann = asked_for_a_code(&shop, "superuser").await;
    assert!(!ann.is_in().await, "the password alone is no session");
    let page = ann.get("/sign-in/code").await;
    page.says("autocomplete=\"one-time-code\"");
    for wrong in ["", "x", &phone.code(-2), &phone.code(3)] {
        let seen = enter(&mut ann, wrong).await;
        assert_eq!(seen.status, 422, "{wrong}");
        seen.says("This code is wrong, too old or has been used already");
        assert!(!ann.is_in().await);
    }
    let code = phone.code(0);
    let spaced = format!(" {} {} ", &code[..3], &code[3..]);
    let seen = enter(&mut ann, &spaced).await;
    assert_eq!((seen.status, seen.to()), (303, "/administrator/"));
    assert!(ann.is_in().await);

    let mut again = asked_for_a_code(&shop, "superuser").await;
    for used in [&code, &phone.code(-1)] {
        assert_eq!(enter(&mut again, used).await.status, 422, "{used}: used, or earlier");
    }
    assert_eq!(enter(&mut again, &phone.code(1)).await.status, 303, "a clock that is ahead");
    let entries = trail(&shop, "superuser").await;
    assert_eq!(entries.iter().filter(|entry| *entry == "sign in with a code").count(), 2);
    eventually("refusals are recorded", async || {
        let entries = trail(&shop, "superuser").await;
        entries.iter().any(|entry| entry.contains("sign in refused: wrong code")).then_some(())
    })
    .await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_step_after_the_password_ends_with_the_password_and_with_the_user() {
    let shop = Shop::open().await;
    let (_, phone, _) = set_up(&shop, "administrator").await;
    let mut visitor = asked_for_a_code(&shop, "administrator").await;
    let half = visitor.cookies["administration-sign-in"].clone();
    for wrong in [&half[1..], &format!("{half}0"), "x"] {
        let mut thief = Visitor::of(&shop.url(""));
        thief.cookies.insert("administration-sign-in".to_owned(), wrong.to_owned());
        assert_eq!(enter(&mut thief, &phone.code(0)).await.to(), "/administrator/sign-in");
    }
    // It is not a device, nor a browser that is trusted, nor a session.
    for name in ["administration", "administration-device", "administration-trust"] {
        let mut thief = Visitor::of(&shop.url(""));
        thief.cookies.insert(name.to_owned(), half.clone());
        assert!(!thief.is_in().await, "{name}");
        enter_password(&mut thief, "administrator").await;
    }
    shop.site.set_password("administrator", "another password".to_owned()).await.unwrap();
    assert_eq!(enter(&mut visitor, &phone.code(0)).await.to(), "/administrator/sign-in");
    shop.site.set_password("administrator", PASSWORD.to_owned()).await.unwrap();
    let mut visitor = asked_for_a_code(&shop, "administrator").await;
    shop.site.block_user("administrator", example_host::Force::No).await.unwrap();
    assert_eq!(enter(&mut visitor, &phone.code(0)).await.to(), "/administrator/sign-in");
}

#[tokio::test]
async fn of_many_requests_with_one_code_one_begins_a_session() {
    let shop = Shop::open().await;
    let (_, phone, codes) = set_up(&shop, "superuser").await;
    for code in [phone.code(0), codes[0].clone()] {
        let mut visitors = Vec::new();
        for _ in 0..5 {
            visitors.push(asked_for_a_code(&shop, "superuser").await);
        }
        let answers = join_all(visitors.iter_mut().map(|visitor| enter(visitor, &code))).await;
        let mut statuses: Vec<u16> = answers.iter().map(|seen| seen.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses[0], 303, "{statuses:?}");
        assert!(statuses[1..].iter().all(|status| [422, 429].contains(status)), "{statuses:?}");
        shop.database.execute("DELETE FROM host_sign_in_failures").await;
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_recovery_code_takes_the_place_of_a_code_once() {
    let shop = Shop::open().await;
    let (_, _, codes) = set_up(&shop, "superuser").await;
    let mut ann = asked_for_a_code(&shop, "superuser").await;
    let seen = enter(&mut ann, &codes[3].to_uppercase().replace('-', " ")).await;
    assert_eq!(seen.status, 303);
    ann.get("/").await;
    assert!(ann.html.contains("You have used a recovery code, and 9 are left."));
    let mut again = asked_for_a_code(&shop, "superuser").await;
    assert_eq!(enter(&mut again, &codes[3]).await.status, 422);
    // That of another user is none.
    let (_, _, others) = set_up(&shop, "administrator").await;
    assert_eq!(enter(&mut again, &others[0]).await.status, 422);

    let page = ann.get("/account/second-factor").await;
    page.says("You have 9 left.");
    let seen = ann.post("/account/second-factor/codes", &[]).await;
    let new = recovery_codes(&seen.html);
    assert_eq!(new.len(), 10);
    assert_eq!(enter(&mut again, &codes[0]).await.status, 422, "those from before are gone");
    assert_eq!(enter(&mut again, &new[0]).await.status, 303);
    let entries = trail(&shop, "superuser").await;
    assert!(entries.contains(&"sign in with a recovery code".to_owned()), "{entries:?}");
    assert!(entries.contains(&"make new recovery codes".to_owned()), "{entries:?}");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn wrong_codes_are_counted_for_the_user_from_all_addresses_and_apart_from_passwords() {
    let shop = shop_behind_a_proxy().await;
    let (mut known, phone, _) = set_up(&shop, "superuser").await;
    known.fill("/", "/sign-out", &[]).await;
    let from = |number: usize| {
        let address = format!("198.51.100.{number}");
        Visitor::of(&shop.url("")).with("x-forwarded-for", &address)
    };
    // Six wrong ones from one address: then it waits, and another one does not.
    let mut one = from(0);
    enter_password(&mut one, "superuser").await;
    for _ in 0..5 {
        assert_eq!(enter(&mut one, "000000").await.status, 422);
    }
    shop.database.execute(LENGTHEN_WAITS).await;
    let seen = enter(&mut one, &phone.code(0)).await;
    assert_eq!(seen.status, 429, "not even the right one");
    assert!(seen.headers.contains_key("retry-after"));
    seen.says("Too many attempts");

    // From many addresses at the same time: ten in all, and then one each 72 minutes.
    let mut visitors = Vec::new();
    for number in 1..30 {
        let mut visitor = from(number);
        enter_password(&mut visitor, "superuser").await;
        visitors.push(visitor);
    }
    let guesses = visitors.iter_mut().map(async |guest| enter(guest, "000000").await.status);
    let answers = join_all(guesses).await;
    let tried = answers.iter().filter(|status| **status == 422).count();
    assert_eq!(tried, 5, "{answers:?}");
    assert!(answers.iter().all(|status| [422, 429].contains(status)), "{answers:?}");
    let mut late = from(40);
    enter_password(&mut late, "superuser").await;
    let seen = enter(&mut late, &phone.code(0)).await;
    let wait: u64 = seen.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((4000..=4321).contains(&wait), "{wait}");
    seen.says(&format!("Try again in {} minutes.", wait.div_ceil(60)));

    // The owner gets in on a device that is known, and the password was not counted.
    enter_password(&mut known, "superuser").await;
    assert_eq!(enter(&mut known, &phone.code(0)).await.status, 303);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_trusted_browser_is_not_asked_for_a_code_until_the_sessions_end() {
    let shop = shop_behind_a_proxy().await;
    let (_, phone, _) = set_up(&shop, "superuser").await;
    let trust = async |visitor: &mut Visitor| {
        forget_codes(&shop).await;
        enter_password(visitor, "superuser").await;
        let seen = visitor.post("/sign-in/code", &[("code", &phone.code(0)), ("trust", "1")]).await;
        assert_eq!(seen.status, 303);
        let cookies = seen.headers.get_all("set-cookie").iter();
        let cookies = cookies.map(|cookie| cookie.to_str().unwrap().to_owned());
        cookies.filter(|cookie| cookie.contains("-trust=")).collect::<Vec<_>>()
    };
    let mut ann = Visitor::of(&shop.url(""));
    let cookie = trust(&mut ann).await;
    let (_, attributes) = cookie[0].split_once("; ").unwrap();
    assert_eq!(attributes, "HttpOnly; SameSite=Strict; Path=/administrator; Max-Age=2592000");
    let mut encrypted = Visitor::of(&shop.url("")).with("x-forwarded-proto", "https");
    let cookie = trust(&mut encrypted).await;
    assert!(cookie[0].starts_with("__Host-administration-trust="), "{cookie:?}");
    assert!(cookie[0].ends_with("HttpOnly; SameSite=Strict; Secure; Path=/; Max-Age=2592000"));

    let signs_in = async |visitor: &mut Visitor| {
        visitor.sign_in("superuser", PASSWORD).await.to() == "/administrator/"
    };
    ann.fill("/", "/sign-out", &[]).await;
    assert!(signs_in(&mut ann).await);
    // A dangerous action needs a code all the same.
    ann.get("/users/new").await;
    let user = [("username", "bob"), ("email", "bob@example.com"), ("group", "3")];
    let seen = ann.post("/users/new", &user).await;
    assert_eq!(seen.status, 403);
    seen.says("name=\"confirmation-code\"");
    // Neither a changed cookie nor that of another user is of use.
    let kept = ann.cookies["administration-trust"].clone();
    for wrong in [&kept[1..], &format!("{kept}0"), "x"] {
        let mut thief = Visitor::of(&shop.url(""));
        thief.cookies.insert("administration-trust".to_owned(), wrong.to_owned());
        assert!(!signs_in(&mut thief).await, "{wrong}");
    }
    let (_, _, _) = set_up(&shop, "administrator").await;
    let mut other = Visitor::of(&shop.url(""));
    other.cookies.insert("administration-trust".to_owned(), kept.clone());
    enter_password(&mut other, "administrator").await;

    // It ends with the sessions.
    ann.fill("/account", "/account/sign-out-everywhere", &[]).await;
    enter_password(&mut ann, "superuser").await;
    trust(&mut ann).await;
    shop.site.set_password("superuser", "another password".to_owned()).await.unwrap();
    shop.site.set_password("superuser", PASSWORD.to_owned()).await.unwrap();
    enter_password(&mut ann, "superuser").await;
    trust(&mut ann).await;
    assert!(signs_in(&mut ann).await);
    shop.site.remove_second_factor("superuser").await.unwrap();
    let (_, _, _) = set_up(&shop, "superuser").await;
    enter_password(&mut ann, "superuser").await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn confirmations_and_a_new_password_need_a_code_too() {
    let shop = Shop::open().await;
    let (mut ann, phone, codes) = set_up(&shop, "superuser").await;
    need_confirmation(&shop).await;
    ann.get("/users/new").await;
    let user = [("username", "bob"), ("email", "bob@example.com"), ("group", "3")];
    let seen = ann.post("/users/new", &user).await;
    assert_eq!(seen.status, 403);
    seen.says("name=\"confirmation-code\"");
    let with = |password: &'static str, code: String| {
        let proof = [("confirmation", password.to_owned()), ("confirmation-code", code)];
        let user = user.map(|(name, value)| (name, value.to_owned()));
        user.into_iter().chain(proof).collect::<Vec<_>>()
    };
    for (password, code, says) in [
        (PASSWORD, String::new(), "This code is wrong"),
        (PASSWORD, "000000".to_owned(), "This code is wrong"),
        ("not the password", phone.code(0), "This is not your password"),
    ] {
        let fields = with(password, code);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let seen = ann.post("/users/new", &fields).await;
        assert_eq!(seen.status, 422);
        seen.says(says);
        // Neither is sent back.
        assert!(!seen.html.contains("value=\"000000\"") && !seen.html.contains("not the password"));
    }
    assert!(shop.site.user("bob").await.is_err());
    let fields = with(PASSWORD, phone.code(0));
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(ann.post("/users/new", &fields).await.status, 303);
    assert!(shop.site.user("bob").await.is_ok());

    let page = ann.get("/account").await;
    page.says("name=\"confirmation-code\"");
    let change = async |ann: &mut Visitor, password: &str, code: &str| {
        let fields = [("current", PASSWORD), ("password", password), ("confirmation-code", code)];
        ann.post("/account", &fields).await.status
    };
    assert_eq!(change(&mut ann, "a new password", "").await, 422);
    assert_eq!(change(&mut ann, "short", &codes[0]).await, 422, "the code is not used up");
    assert_eq!(change(&mut ann, "a new password", &codes[0]).await, 303);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn turning_it_off_and_removing_it_need_the_right_to_do_so() {
    let shop = Shop::open().await;
    let (mut ann, phone, _) = set_up(&shop, "superuser").await;
    need_confirmation(&shop).await;
    ann.get("/account/second-factor").await;
    assert_eq!(ann.post("/account/second-factor/remove", &[]).await.status, 403);
    let proof = [("confirmation", PASSWORD), ("confirmation-code", &phone.code(0))];
    assert_eq!(ann.post("/account/second-factor/remove", &proof).await.status, 303);
    assert!(!shop.site.user("superuser").await.unwrap().second_factor);
    assert_eq!(shop.database.number("SELECT count(*) FROM host_recovery_codes").await, 0);
    assert!(ann.is_in().await);
    Visitor::signed_in(&shop, "superuser").await;

    // Only users with core.admin remove that of another one.
    let (mut ann, _, _) = set_up(&shop, "superuser").await;
    let (mut bob, _, _) = set_up(&shop, "administrator").await;
    let remove = async |by: &mut Visitor, name: &str| {
        let page = format!("/users/{}", id(&shop.site, name).await);
        by.get(&page).await;
        assert!(by.html.contains("Remove the second factor"));
        by.post(&format!("{page}/second-factor/remove"), &[]).await.status
    };
    assert_eq!(remove(&mut bob, "superuser").await, 303);
    assert!(shop.site.user("superuser").await.unwrap().second_factor, "it was refused");
    assert_eq!(remove(&mut ann, "administrator").await, 303);
    assert!(!shop.site.user("administrator").await.unwrap().second_factor);
    assert!(!bob.is_in().await, "the sessions have ended");
    let entries = trail(&shop, "superuser").await;
    assert_eq!(entries.last().unwrap(), "remove a second factor");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn whoever_needs_a_second_factor_sees_nothing_before_setting_it_up() {
    let shop = shop_where(SecondFactors::Required).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for path in ["/", "/users", "/account", "/search?q=x", "/audit/export"] {
        let seen = ann.get(path).await;
        assert_eq!(
            (seen.status, seen.to()),
            (303, "/administrator/account/second-factor"),
            "{path}"
        );
    }
    let target = format!("/users/{}/block", id(&shop.site, "manager").await);
    ann.get("/account/second-factor").await;
    assert!(!ann.html.contains("/administrator/users"), "no sign of another page");
    assert_eq!(ann.post(&target, &[]).await.to(), "/administrator/account/second-factor");
    assert!(!shop.site.user("manager").await.unwrap().blocked);
    turn_on(&mut ann).await;
    assert!(ann.is_in().await);
    // Tokens are not concerned.
    shop.get("/products").send().await.expect(200);
}

#[tokio::test]
async fn a_group_may_require_a_second_factor_of_its_users_and_of_those_below() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let groups = shop.site.groups().await.unwrap();
    let manager = groups.iter().find(|group| group.title == "Manager").unwrap();
    let page = format!("/groups/{}", manager.id);
    let fields = [("title", "Manager"), ("second-factor", "1")];
    assert_eq!(ann.fill(&page, &page, &fields).await.status, 303);
    ann.get("/groups").await;
    assert!(ann.html.contains("Second factor required"));
    assert!(ann.is_in().await, "other groups are not concerned");
    assert!(!bob.is_in().await, "Administrator is below Manager");
    turn_on(&mut bob).await;
    assert!(bob.is_in().await);
    assert_eq!(ann.fill(&page, &page, &[("title", "Manager")]).await.status, 303);
    let entries = trail(&shop, "superuser").await;
    assert!(entries.contains(&"change a group: requires a second factor".to_owned()));
}

#[tokio::test]
async fn a_site_without_second_factors_neither_shows_nor_asks_for_one() {
    let shop = shop_where(SecondFactors::Off).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    assert!(!ann.get("/account").await.html.contains("second-factor"));
    assert_eq!(ann.get("/account/second-factor").await.status, 404);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_command_removes_the_second_factor_and_lists_show_it() {
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    let served = place.serve().await;
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    turn_on(&mut ann).await;
    assert!(
        place.run("user list").await.contains("ann\tann@example.com\tSuper Users\tactive\tset")
    );
    place.run("user second-factor remove ann").await;
    assert!(!ann.is_in().await, "the sessions have ended");
    assert_eq!(ann.sign_in("ann", PASSWORD).await.to(), "/administrator/");
    assert!(place.run("user list").await.ends_with("\tactive\tnone\n"));
    let refused = place.refusal("user second-factor remove ann").await;
    assert!(refused.contains("no second factor"), "{refused}");
    let exported = place.run("audit export").await;
    assert!(exported.contains("remove a second factor"), "{exported}");
    served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_mail_tells_the_user_of_each_change_of_a_second_factor() {
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    let served = place.serve().await;
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let (_, codes) = turn_on(&mut ann).await;
    let mut other = Visitor::of(&served.url(""));
    enter_password(&mut other, "ann").await;
    assert_eq!(enter(&mut other, &codes[0]).await.status, 303);
    ann.get("/account/second-factor").await;
    assert_eq!(ann.post("/account/second-factor/codes", &[]).await.status, 200);
    place.run("user second-factor remove ann").await;
    for subject in [
        "Your second factor is on",
        "One of your recovery codes was used",
        "You have new recovery codes",
        "Your second factor was removed",
    ] {
        eventually(subject, async || {
            let mails = std::fs::read_dir(place.data("mail")).ok()?;
            let texts = mails.map(|mail| std::fs::read_to_string(mail.unwrap().path()).unwrap());
            let mut told = texts.filter(|text| text.contains("ann@example.com"));
            told.any(|text| text.contains(&format!("Subject: {subject}\r\n"))).then_some(())
        })
        .await;
    }
    served.stop().await;
}

#[tokio::test]
async fn a_second_factor_moves_with_its_site_and_needs_the_key_of_secrets() {
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let served = place.serve_with(&[("HOST_SECRET_KEY", key), ("HOST_LOG", "trace")]).await;
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let (phone, codes) = turn_on(&mut ann).await;
    // Neither the key nor a code is in the log.
    let log = served.log.all().join("\n");
    assert!(log.contains("DEBUG"), "much is logged");
    for secret in
        [&phone.key, &codes[0], &codes[0].replace('-', ""), &ann.cookies["administration"]]
    {
        assert!(!log.contains(secret), "{secret}");
    }
    served.stop().await;

    let target = Database::new().await;
    let (from, to) = (place.site_url(), target.url());
    let copy = place.call("copy --from").word(&from).word("--to").word(&to);
    let copied = copy.env("HOST_SECRET_KEY", key).finish().await;
    copied.succeeds();
    let signs_in = async |key: &str, code: &str| {
        let call = place.call("serve --listen 127.0.0.1:0").env("DATABASE_URL", &to);
        let served = call.env("HOST_SECRET_KEY", key).start().await;
        let mut ann = Visitor::of(&served.url(""));
        enter_password(&mut ann, "ann").await;
        let status = enter(&mut ann, code).await.status;
        served.stop().await;
        status
    };
    let code = phone.code(1);
    assert_eq!(signs_in(key, &code).await, 303);
    assert_eq!(signs_in(key, &code).await, 422, "a code that was used before");
    let other = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
    assert_eq!(signs_in(other, &phone.code(1)).await, 500, "the key is another one");
    assert_eq!(signs_in(other, &codes[0]).await, 303, "recovery codes need none");
}

/// The second step hashes no password, whether the code is right or wrong: it takes a fraction of the time of the
/// first where a password is slow to check.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_second_step_costs_no_hashing_of_passwords() {
    let shop = Shop::open().await;
    let (_, phone, _) = set_up(&shop, "superuser").await;
    // The same password, hashed in 25 times as many passes as usual.
    let slow = "UPDATE host_users SET password_hash = '$argon2id$v=19$m=16384,t=50,p=1$\
         c2FsdG9mYXRlc3Q$OW7PlKVmS2uH4reFUx00TEaFgACQgaEH2IfIMIZ8+kA'";
    shop.database.execute(slow).await;
    let begun = Instant::now();
    let mut ann = asked_for_a_code(&shop, "superuser").await;
    let first = begun.elapsed();
    for (code, status) in [("000000", 422), (&*phone.code(0), 303)] {
        let begun = Instant::now();
        assert_eq!(enter(&mut ann, code).await.status, status);
        let second = begun.elapsed();
        println!("{first:?} for the password, {second:?} for the code");
        assert!(second * 3 < first, "{first:?}, {second:?}");
    }
}

/// Two programs by others agree on what a code is: the app of these tests, and Debian's oathtool.
#[test]
#[cfg_attr(not(oathtool), ignore = "oathtool is not installed; tests/oathtool/prepare.sh does it")]
fn the_codes_are_those_of_oathtool() {
    let mut keys = fastrand::Rng::with_seed(6238);
    for _ in 0..200 {
        let digit = |_| char::from(keys.choice(*b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567").unwrap());
        let phone = Phone { key: (0..32).map(digit).collect() };
        let moment = keys.i64(0..4_000_000_000);
        let now = format!("--now=@{moment}");
        let mut oathtool = std::process::Command::new("oathtool");
        let output = oathtool.args(["--totp", "--base32", &now, &phone.key]).output().unwrap();
        let code = String::from_utf8(output.stdout).unwrap();
        assert_eq!(code.trim(), phone.code_at(moment), "{} at {moment}", phone.key);
    }
}
