//! A forgotten password and invitations: what an answer reveals, what a link is good for, and how many there are.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use example_host::{Force, NewUser, ServerSettings};
use futures_util::future::join_all;

use crate::support::harness::{Setup, Shop};
use crate::support::phone::set_up;
use crate::support::process::Place;
use crate::support::smtp::Sink;
use crate::support::visitor::{PASSWORD, Seen, Visitor, id};
use crate::support::waiting::eventually;

/// The address of the site in links.
const SITE: &str = "https://www.example.com";

const NEW: &str = "another horse battery";

/// A shop that sends its mails to a sink, behind a trusted proxy.
async fn shop_with(sink: &Sink) -> Shop {
    let mut setup = Setup::from(sink);
    setup.mail.site_url = Some(SITE.to_owned());
    setup.server.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    Shop::with(setup).await
}

async fn ask(visitor: &mut Visitor, name: &str) -> Seen {
    visitor.post("/sign-in/forgotten", &[("name", name)]).await
}

async fn ask_from(shop: &Shop, address: &str, name: &str) -> Seen {
    ask(&mut Visitor::of(&shop.url("")).with("x-forwarded-for", address), name).await
}

/// The path and the secret of the link in a text.
fn link_in(text: &str) -> (String, String) {
    let (_, rest) = text.split_once(&format!("{SITE}/administrator")).expect("a link");
    let path = rest.split_whitespace().next().unwrap();
    let (_, secret) = path.split_once("?link=").unwrap();
    (path.to_owned(), secret.to_owned())
}

/// The secret of a link that the user has asked for.
async fn link_of(shop: &Shop, sink: &Sink, name: &str) -> String {
    let before = sink.mails().len();
    ask_from(shop, "192.0.2.1", name).await;
    let mails = sink.wait_for(before + 1).await;
    link_in(&mails[before].text()).1
}

async fn choose(visitor: &mut Visitor, secret: &str, password: &str) -> Seen {
    visitor.post("/new-password", &[("link", secret), ("password", password)]).await
}

#[tokio::test]
async fn a_link_sets_a_new_password_once_and_ends_all_sessions() {
    let sink = Sink::start().await;
    let shop = shop_with(&sink).await;
    let mut before = Visitor::signed_in(&shop, "superuser").await;
    let mut ann = Visitor::of(&shop.url(""));
    ann.get("/sign-in").await;
    assert!(ann.html.contains("/administrator/sign-in/forgotten"));
    // An address in another case, with spaces around it; and a header with the name of another site.
    let mut evil = Visitor::of(&shop.url("")).with("host", "evil.example");
    evil = evil.with("sec-fetch-site", "same-origin");
    ask(&mut evil, "  SuperUser@Example.COM ").await;
    let mail = sink.wait_for(1).await.remove(0);
    assert_eq!(mail.to, ["superuser@example.com"]);
    assert_eq!(mail.subject(), "Choose a new password");
    let (path, secret) = link_in(&mail.text());
    assert!(!mail.source.contains("evil.example"));
    let kept = "SELECT count(*) FROM host_password_links";
    assert_eq!(shop.database.number(kept).await, 1);

    // Programs that check mails open the link any number of times.
    for _ in 0..3 {
        let seen = ann.get(&path).await;
        assert_eq!(seen.status, 200);
        assert_eq!(seen.headers["referrer-policy"], "no-referrer");
        seen.says("Choose a new password");
    }
    assert_eq!(choose(&mut ann, &secret, "too short").await.status, 422);
    assert!(before.is_in().await, "nothing has changed yet");
    let answers = join_all(
        (0..6)
            .map(|_| async { choose(&mut Visitor::of(&shop.url("")), &secret, NEW).await.status }),
    )
    .await;
    assert_eq!(answers.iter().filter(|status| **status == 303).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|status| [303, 404].contains(status)), "{answers:?}");
    assert!(!before.is_in().await);
    assert_eq!(ann.sign_in("superuser", PASSWORD).await.status, 422);
    assert_eq!(ann.sign_in("superuser", NEW).await.status, 303);
    let seen = ann.get(&path).await;
    assert_eq!(seen.status, 404);
    seen.says("This link is no longer good");
    let told = sink.wait_for(2).await.remove(1);
    assert_eq!(told.subject(), "Your password was changed");

    let trail = "SELECT concat(username, ', ', means, ': ', what) FROM host_audit ORDER BY id";
    let trail = shop.database.texts(trail).await;
    let expected = "superuser, link, from 127.0.0.1: choose a new password by a link";
    assert!(trail.iter().any(|entry| entry == expected), "{trail:?}");
    assert!(!format!("{trail:?}").contains(&secret));
}

#[tokio::test]
async fn a_link_is_worth_nothing_late_after_another_one_and_for_a_blocked_user() {
    let sink = Sink::start().await;
    let shop = shop_with(&sink).await;
    let mut ann = Visitor::of(&shop.url(""));
    let first = link_of(&shop, &sink, "superuser").await;
    let second = link_of(&shop, &sink, "superuser").await;
    assert_eq!(choose(&mut ann, &first, NEW).await.status, 404, "there is a newer one");
    for wrong in ["", "x", &second[1..], &format!("{second}0"), &"0".repeat(64)] {
        assert_eq!(choose(&mut ann, wrong, NEW).await.status, 404, "{wrong}");
    }
    let late = "UPDATE host_password_links SET ends_on = '2020-01-01T00:00:00'";
    shop.database.execute(late).await;
    assert_eq!(ann.get(&format!("/new-password?link={second}")).await.status, 404, "late");
    assert_eq!(choose(&mut ann, &second, NEW).await.status, 404, "late");
    let other = link_of(&shop, &sink, "administrator").await;
    shop.site.block_user("administrator", Force::No).await.unwrap();
    assert_eq!(choose(&mut ann, &other, NEW).await.status, 404, "blocked");
    // Nor is there one for blocked users, nor for those who may not use the administration.
    let before = sink.mails().len();
    for name in ["administrator", "registered", "manager@example.com"] {
        ask_from(&shop, "192.0.2.1", name).await;
    }
    link_of(&shop, &sink, "superuser").await;
    assert_eq!(sink.mails().len(), before + 1);
}

#[tokio::test]
async fn a_link_ends_with_a_new_password_another_address_and_a_block() {
    let sink = Sink::start().await;
    let shop = shop_with(&sink).await;
    let mut ann = Visitor::of(&shop.url(""));
    let secret = link_of(&shop, &sink, "superuser").await;
    shop.site.set_password("superuser", PASSWORD.to_owned()).await.unwrap();
    assert_eq!(choose(&mut ann, &secret, NEW).await.status, 404, "another password");

    let secret = link_of(&shop, &sink, "administrator").await;
    shop.site.block_user("administrator", Force::No).await.unwrap();
    shop.site.unblock_user("administrator").await.unwrap();
    assert_eq!(choose(&mut ann, &secret, NEW).await.status, 404, "blocked meanwhile");

    let secret = link_of(&shop, &sink, "administrator").await;
    let groups = shop.site.groups().await.unwrap();
    let group = groups.iter().find(|group| group.title == "Administrator").unwrap();
    let (page, group) =
        (format!("/users/{}", id(&shop.site, "administrator").await), group.id.to_string());
    let mut boss = Visitor::signed_in(&shop, "superuser").await;
    for (email, is_good) in [("ADMINISTRATOR@example.com", true), ("other@example.com", false)] {
        let fields = [("username", "administrator"), ("email", email), ("group", group.as_str())];
        assert_eq!(boss.fill(&page, &page, &fields).await.status, 303, "{email}");
        let status = ann.get(&format!("/new-password?link={secret}")).await.status;
        assert_eq!(status == 200, is_good, "{email}: {status}");
    }
    assert_eq!(choose(&mut ann, &secret, NEW).await.status, 404, "another address");

    let before = sink.mails().len();
    let bob = NewUser {
        username: "bob".to_owned(),
        email: "bob@example.com".to_owned(),
        groups: vec!["Administrator".to_owned()],
        password: None,
    };
    shop.site.invite_user(bob).await.unwrap();
    let (_, secret) = link_in(&sink.wait_for(before + 1).await[before].text());
    shop.site.set_password("bob", PASSWORD.to_owned()).await.unwrap();
    assert_eq!(choose(&mut ann, &secret, NEW).await.status, 404, "there is a first password");
    assert_eq!(ann.sign_in("bob", PASSWORD).await.status, 303);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_second_factor_is_needed_beside_the_link() {
    let sink = Sink::start().await;
    let shop = shop_with(&sink).await;
    let (_, phone, codes) = set_up(&shop, "superuser").await;
    sink.wait_for(1).await;
    let secret = link_of(&shop, &sink, "superuser").await;
    let mut ann = Visitor::of(&shop.url(""));
    ann.get(&format!("/new-password?link={secret}")).await;
    assert!(ann.html.contains("name=\"code\""));
    let choose = async |ann: &mut Visitor, password: &str, code: &str| {
        let fields = [("link", secret.as_str()), ("password", password), ("code", code)];
        ann.post("/new-password", &fields).await.status
    };
    assert_eq!(choose(&mut ann, NEW, "").await, 422);
    assert_eq!(choose(&mut ann, NEW, "000000").await, 422);
    assert_eq!(choose(&mut ann, "short", &codes[0]).await, 422, "the code is not used up");
    assert_eq!(choose(&mut ann, NEW, &codes[0]).await, 303);
    // The password is new, and the second factor is as before.
    assert_eq!(ann.sign_in("superuser", NEW).await.to(), "/administrator/sign-in/code?next=");
    let seen = ann.post("/sign-in/code", &[("code", &phone.code(0))]).await;
    assert_eq!(seen.status, 303);
}

#[tokio::test]
async fn there_are_three_links_an_hour_for_a_user_and_twenty_for_a_block_of_addresses() {
    let sink = Sink::start().await;
    let shop = shop_with(&sink).await;
    let mut answers = BTreeSet::new();
    for number in 0..6 {
        let address = format!("198.51.{number}.1");
        let seen = ask_from(&shop, &address, "superuser").await;
        answers.insert((seen.status, seen.html));
    }
    sink.wait_for(3).await;
    // Another user from an address that has asked 20 times, with its neighbours.
    for number in 0..20 {
        let seen = ask_from(&shop, &format!("203.0.113.{number}"), "nobody").await;
        answers.insert((seen.status, seen.html));
    }
    let seen = ask_from(&shop, "203.0.113.99", "administrator").await;
    answers.insert((seen.status, seen.html));
    assert_eq!(answers.len(), 1, "the limits are silent: {answers:?}");
    // What comes from elsewhere is dealt with after it.
    ask_from(&shop, "192.0.2.1", "administrator").await;
    let mails = sink.wait_for(4).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(sink.mails().len(), 4);
    assert_eq!(mails[3].to, ["administrator@example.com"]);
    // An hour later the user gets another one.
    shop.database.execute("UPDATE host_password_requests SET asked_on = asked_on - 3600001").await;
    ask_from(&shop, "198.51.100.1", "superuser").await;
    sink.wait_for(5).await;
    // And the next ones, although the clock of the database was set back.
    shop.database.execute("UPDATE host_password_requests SET asked_on = asked_on + 600000").await;
    for expected in [6, 7] {
        ask_from(&shop, "198.51.100.1", "superuser").await;
        sink.wait_for(expected).await;
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn requests_of_one_address_do_not_keep_others_from_their_links() {
    let sink = Sink::start().await;
    let shop = shop_with(&sink).await;
    // Each that waits takes a while, so that they would fill all places for seconds.
    let flooding = Visitor::of(&shop.url("")).with("x-forwarded-for", "203.0.113.7");
    for _ in 0..12 {
        let asked =
            (0..50).map(|_| flooding.post_and_leave("/sign-in/forgotten", &[("name", "nobody")]));
        join_all(asked).await;
    }
    ask_from(&shop, "192.0.2.1", "superuser").await;
    assert_eq!(sink.wait_for(1).await[0].to, ["superuser@example.com"]);
}

/// The answers for users and for nobody are alike in status, content and time, although there is a mail for one of
/// them: what is done for a name is done after the answer.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_answer_does_not_reveal_which_users_exist() {
    let sink = Sink::start().await;
    let shop = shop_with(&sink).await;
    sink.hang();
    let mut answers = BTreeSet::new();
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..4 {
        let asked = (0..100).map(async |number| {
            let known = number % 2 == 0;
            let name = if known { "superuser".to_owned() } else { format!("nobody{number}") };
            let address = format!("10.{round}.{number}.1");
            let mut visitor = Visitor::of(&shop.url("")).with("x-forwarded-for", &address);
            let begun = Instant::now();
            let seen = ask(&mut visitor, &name).await;
            (known, begun.elapsed(), seen.status, seen.html)
        });
        for (known, took, status, html) in join_all(asked).await {
            answers.insert((status, html));
            times[usize::from(known)].push(took);
        }
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    let [nobody, known] = times.map(|mut times| {
        times.sort_unstable();
        [times.len() / 4, times.len() / 2, times.len() * 3 / 4].map(|place| times[place])
    });
    println!("quartiles: {nobody:?} for nobody, {known:?} for a user");
    for (nobody, known) in nobody.into_iter().zip(known) {
        let (least, most) = (nobody.min(known), nobody.max(known));
        assert!(most < least * 2 + Duration::from_millis(20), "{nobody:?} and {known:?}");
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn without_a_mail_server_an_address_of_the_site_or_by_a_setting_there_are_no_links() {
    let sink = Sink::start().await;
    let with = |site_url: Option<&str>, has_server: bool, password_reset: bool| {
        let mut setup = Setup::from(&sink);
        setup.mail.site_url = site_url.map(str::to_owned);
        if !has_server {
            setup.mail.server = None;
        }
        setup.server = ServerSettings { password_reset, ..ServerSettings::default() };
        setup
    };
    for setup in
        [with(None, true, true), with(Some(SITE), false, true), with(Some(SITE), true, false)]
    {
        let shop = Shop::with(setup).await;
        let mut guest = Visitor::of(&shop.url(""));
        assert!(!guest.get("/sign-in").await.html.contains("Forgot"));
        assert_eq!(guest.get("/sign-in/forgotten").await.status, 404);
        assert_eq!(ask(&mut guest, "superuser").await.status, 404);
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn users_are_invited_by_a_command_and_on_the_page() {
    let sink = Sink::start().await;
    let place = Place::of_the_store();
    let refused =
        place.refusal("user add eve --email eve@example.com --group Manager --invite").await;
    assert!(refused.contains("HOST_SMTP_URL and HOST_URL"), "{refused}");
    let url = sink.url();
    let environment = [("HOST_SMTP_URL", url.as_str()), ("HOST_URL", "https://www.example.com/")];
    let mut call =
        place.call("user add ann --email ann@example.com --group Administrator --invite");
    for (name, value) in environment {
        call = call.env(name, value);
    }
    call.finish().await.succeeds();
    let mail = sink.wait_for(1).await.remove(0);
    assert_eq!(
        (mail.to.as_slice(), mail.subject()),
        (["ann@example.com".to_owned()].as_slice(), "Your account".to_owned())
    );
    let (path, secret) = link_in(&mail.text());
    assert!(!place.run("audit export").await.contains(&secret));

    let served = place.serve_with(&environment).await;
    let mut ann = Visitor::of(&served.url(""));
    ann.get(&path).await;
    assert!(ann.html.contains("Choose your password"));
    assert_eq!(choose(&mut ann, &secret, PASSWORD).await.status, 303);
    assert_eq!(choose(&mut ann, &secret, PASSWORD).await.status, 404);
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);

    ann.get("/users/new").await;
    let user = [("username", "bob"), ("email", "bob@example.com"), ("group", "3"), ("invite", "1")];
    let both = user.into_iter().chain([("password", PASSWORD)]).collect::<Vec<_>>();
    let seen = ann.post("/users/new", &both).await;
    assert_eq!(seen.status, 422);
    seen.says("A user who is invited chooses the password.");
    assert_eq!(ann.post("/users/new", &user).await.status, 303);
    let mail = sink.wait_for(2).await.remove(1);
    assert_eq!(mail.to, ["bob@example.com"]);
    let (_, secret) = link_in(&mail.text());
    eventually("the mail is there once", async || (sink.mails().len() == 2).then_some(())).await;
    assert_eq!(choose(&mut Visitor::of(&served.url("")), &secret, PASSWORD).await.status, 303);
    let trail = place.run("audit export").await;
    assert!(trail.contains("choose the first password by an invitation"), "{trail}");
    served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_invitation_that_was_not_sent_is_reported_and_another_one_is_sent() {
    let place = Place::of_the_store();
    let with = async |server: &str, words: &str| {
        let call = place.call(words).env("HOST_SMTP_URL", server).env("HOST_URL", SITE);
        call.finish().await
    };
    let add = "user add ann --email ann@example.com --group Administrator --invite";
    // Nothing listens on this port.
    let why = with("smtp://127.0.0.1:1", add).await.fails();
    assert!(why.starts_with("the user was added, but the invitation could not be sent:"), "{why}");
    assert!(why.ends_with("`user invite ann` sends another one"), "{why}");
    let why = with("smtp://127.0.0.1:1", "user invite ann").await.fails();
    assert!(why.starts_with("the invitation could not be sent:"), "{why}");
    let sink = Sink::start().await;
    let url = sink.url();
    with(&url, "user invite ann").await.succeeds();
    let (_, first) = link_in(&sink.wait_for(1).await[0].text());

    // The page sends another one, too.
    place.add_administrator("boss", PASSWORD).await;
    let served = place.serve_with(&[("HOST_SMTP_URL", url.as_str()), ("HOST_URL", SITE)]).await;
    let mut boss = Visitor::of(&served.url(""));
    assert_eq!(boss.sign_in("boss", PASSWORD).await.status, 303);
    boss.get("/users/1").await.says("Send an invitation");
    assert_eq!(boss.post("/users/1/invite", &[]).await.status, 303);
    boss.get("/users/1").await.says("ann gets a mail with an invitation.");
    let (_, second) = link_in(&sink.wait_for(2).await[1].text());
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(choose(&mut ann, &first, PASSWORD).await.status, 404, "there is a newer one");
    assert_eq!(choose(&mut ann, &second, PASSWORD).await.status, 303);

    // Who has a password is not invited.
    assert!(!boss.get("/users/1").await.html.contains("Send an invitation"));
    boss.post("/users/1/invite", &[]).await;
    boss.get("/users/1").await.says("The user has a password");
    let why = "the user has a password, and an invitation is for the first one";
    assert_eq!(with(&url, "user invite ann").await.fails(), why);
    place.run("user add bob --email bob@example.com --group Administrator").await;
    place.run("user block bob").await;
    assert_eq!(with(&url, "user invite bob").await.fails(), "the user is blocked");
    assert!(place.refusal("user invite bob").await.contains("HOST_SMTP_URL and HOST_URL"));
    served.stop().await;
    let trail = place.run("audit export").await;
    assert_eq!(trail.matches("\"invite a user\"").count(), 3, "{trail}");
    assert_eq!(sink.mails().len(), 2);
}
