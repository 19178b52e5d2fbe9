//! Users, tokens and permissions in the administration, and the limits of administrators with
//! respect to each other.

use example_host::{Force, NewUser};

use crate::support::filled::Filled;
use crate::support::harness::{Role, Shop};
use crate::support::visitor::{Visitor, add, beside, field, id};
use crate::support::waiting::eventually;

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn core_manage_cannot_escalate_to_core_admin() {
    let shop = Shop::open().await;
    let boss = id(&shop.site, "superuser").await;
    let own = id(&shop.site, "administrator").await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let account = format!("/users/{boss}");
    let token = shop.site.tokens("superuser").await.unwrap()[0].id;
    let (rotate, revoke) = (format!("/token/{token}/rotate"), format!("/token/{token}/revoke"));
    for (to, fields) in [
        ("/block", &[][..]),
        ("/unblock", &[]),
        ("/invite", &[]),
        ("/sign-out", &[]),
        ("/delete", &[]),
        ("/token", &[]),
        ("/token/new", &[("name", "mine"), ("may", "everything")]),
        (&*rotate, &[("overlap", "0")]),
        (&*revoke, &[]),
        (
            "",
            &[
                ("username", "superuser"),
                ("email", "mine@example.com"),
                ("password", "mine for ever"),
                ("group", "5"),
            ],
        ),
    ] {
        let seen = ann.fill(&account, &format!("{account}{to}"), fields).await;
        assert_eq!((seen.status, seen.to()), (303, &*format!("/administrator{account}")), "{to}");
        ann.get(&account).await.says("Only users with core.admin may change others who have it");
    }
    // Nor by adding themselves or a new user to the group.
    let fields = |name| [("username", name), ("email", "x@example.com"), ("group", "5")];
    for (page, name) in [(format!("/users/{own}"), "administrator"), ("/users/new".into(), "eve")] {
        assert_eq!(ann.fill(&page, &page, &fields(name)).await.status, 303);
        ann.get(&page).await.says("may add a user to a group that has it");
    }
    for path in ["/groups/new", "/groups/2", "/groups/2/delete"] {
        assert_eq!(ann.get(path).await.status, 403, "{path}");
        ann.get("/groups").await;
        assert_eq!(ann.post(path, &[("title", "x")]).await.status, 403, "{path}");
    }
    let page = ann.get("/permissions?asset=root").await;
    page.says("Only users with core.admin may change rules");
    let seen = field(&page.html, "seen").unwrap().to_owned();
    let rule = [("asset", "root"), ("seen", &seen), ("core.admin-4", "allow")];
    assert_eq!(ann.post("/permissions", &rule).await.status, 403);
    assert_eq!(
        shop.site.rules().await.unwrap().iter().filter(|rule| rule.action == "core.admin").count(),
        1
    );

    // Permitted changes work.
    let manager = id(&shop.site, "manager").await;
    let page = format!("/users/{manager}");
    let seen = ann.fill(&page, &format!("{page}/token"), &[]).await;
    assert_eq!(seen.status, 200);
}

#[tokio::test]
async fn administrators_cannot_lock_themselves_out() {
    let shop = Shop::open().await;
    let own = id(&shop.site, "superuser").await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = format!("/users/{own}");
    let profile = [("username", "superuser"), ("email", "superuser@example.com"), ("group", "3")];
    for (to, fields) in [("/block", &[][..]), ("/delete", &[]), ("", &profile)] {
        assert_eq!(ann.fill(&page, &format!("{page}{to}"), fields).await.status, 303);
        ann.get(&page).await.says("This would lock you out");
    }
    let seen = ann.get("/permissions?asset=root").await;
    let fingerprint = field(&seen.html, "seen").unwrap().to_owned();
    for (rule, setting) in [("core.admin-5", "inherit"), ("core.admin-1", "deny")] {
        let fields = [("asset", "root"), ("seen", &*fingerprint), (rule, setting)];
        ann.fill("/permissions?asset=root", "/permissions", &fields).await;
        ann.get("/permissions?asset=root").await.says("This would lock you out");
    }
    let user = shop.site.user("superuser").await.unwrap();
    assert_eq!((user.blocked, user.groups), (false, vec!["Super Users".to_owned()]));

    // If two administrators take the permission from each other at the same moment, one of them
    // keeps it.
    add(&shop.site, "bob", "Super Users").await;
    for _ in 0..5 {
        let mut bob = Visitor::signed_in(&shop, "bob").await;
        let mut ann = Visitor::signed_in(&shop, "superuser").await;
        let target = id(&shop.site, "bob").await;
        ann.get("/users").await;
        bob.get("/users").await;
        let (to_bob, to_ann) = (format!("/users/{target}/block"), format!("/users/{own}/block"));
        tokio::join!(ann.post(&to_bob, &[]), bob.post(&to_ann, &[]));
        let users = shop.site.users().await.unwrap();
        let left = users
            .iter()
            .filter(|user| !user.blocked && user.groups.contains(&"Super Users".to_owned()));
        assert_eq!(left.count(), 1);
        for name in ["bob", "superuser"] {
            shop.site.unblock_user(name).await.unwrap();
        }
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_token_is_shown_once_and_its_last_use_is_recorded() {
    let shop = Shop::open().await;
    let user = id(&shop.site, "manager").await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = format!("/users/{user}/token");
    ann.get(&page).await.says("Never");
    let seen = ann.post(&page, &[]).await;
    assert_eq!(seen.status, 200);
    let (_, rest) = seen.html.split_once("<code id=\"token\">").unwrap();
    let token = rest.split_once('<').unwrap().0;
    seen.says(&format!("curl -H &#39;Authorization: Bearer {token}&#39;"));
    assert!(!ann.get(&page).await.html.contains(token), "shown only once");

    let ask = |token: &str| {
        shop.get("/manufacturers").header("authorization", &format!("Bearer {token}")).send()
    };
    ask(token).await.expect(200);
    ask(shop.token(Role::Manager)).await.expect(401);
    eventually("its use is seen", async || {
        let seen = ann.request(&page).send().await.unwrap().text().await.unwrap();
        assert!(seen.contains("Last used"), "{seen}");
        (!seen.contains("Never")).then_some(())
    })
    .await;
    let made = shop.site.tokens("manager").await.unwrap()[0].id;
    assert_eq!(ann.fill(&page, &format!("{page}/{made}/revoke"), &[]).await.status, 303);
    ask(token).await.expect(401);
    // The last use of the previous token is not shown for the next one.
    ann.get(&page).await.says("manager has no tokens.");
    ann.post(&page, &[]).await.says("Never");
}

#[tokio::test]
async fn users_are_found_in_any_case_and_paged_without_repeats() {
    let shop = Shop::open().await;
    for number in 0..45 {
        let name = format!("kunde{number:02}");
        let user = NewUser {
            username: name.clone(),
            email: format!("{name}@example.com"),
            groups: vec!["Registered".to_owned()],
            password: None,
        };
        shop.site.add_user(user).await.unwrap();
    }
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let names = |html: &str| -> Vec<String> {
        let rows = html.split("<th scope=\"row\"><a").skip(1);
        let name = |row: &str| row.split(['>', '<']).nth(1).unwrap().to_owned();
        rows.map(name).collect()
    };
    let (mut forwards, mut path) = (Vec::new(), "/users".to_owned());
    let mut pages = Vec::new();
    loop {
        let html = ann.get(&path).await.html;
        pages.push(names(&html));
        forwards.extend(names(&html));
        match beside(&html, "next") {
            Some(next) => path = next,
            None => break,
        }
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [20, 20, 10]);
    assert!(forwards.is_sorted() && forwards.len() == 50);
    let mut html = ann.get(&path).await.html;
    for page in pages.iter().rev().skip(1) {
        html = ann.get(&beside(&html, "prev").unwrap()).await.html;
        assert_eq!(&names(&html), page);
    }
    assert_eq!(beside(&html, "prev"), None);

    ann.get("/").await.says("<strong>50</strong> users");
    let both = [("group", "2"), ("group", "3")];
    let (page, profile) = ("/users/new", [("username", "till"), ("email", "till@example.com")]);
    assert_eq!(ann.fill(page, page, &[&profile[..], &both].concat()).await.status, 303);
    let till = id(&shop.site, "till").await;
    ann.get("/users?search=superuser").await.says(r#"data-label="Groups">Super Users<"#);
    ann.get("/users?search=till").await.says(r#"data-label="Groups">Registered, Manager<"#);
    shop.site.remove_user("till", Force::No).await.unwrap();
    assert!(till > 50);

    let user = id(&shop.site, "kunde07").await;
    let profile = [
        ("username", "kunde07"),
        ("name", "Jürgen Öztürk_7"),
        ("email", "J7@example.com"),
        ("group", "2"),
    ];
    assert_eq!(
        ann.fill(&format!("/users/{user}"), &format!("/users/{user}"), &profile).await.status,
        303
    );
    shop.site.block_user("kunde08", Force::No).await.unwrap();
    for (query, found) in [
        ("search=JÜRGEN", vec!["kunde07"]),
        ("search=özt", vec!["kunde07"]),
        ("search=k_7", vec!["kunde07"]),
        ("search=e_0", vec![]),
        ("search=%25", vec![]),
        ("search=KUNDE1&state=active", (10..20).map(|_| "").collect()),
        ("state=blocked", vec!["kunde08"]),
        ("group=5", vec!["superuser"]),
        ("group=5&state=blocked", vec![]),
        ("search=manager&group=3", vec!["manager"]),
    ] {
        let names = names(&ann.get(&format!("/users?{query}")).await.html);
        match found.first() {
            Some(&"") => assert_eq!(names.len(), found.len(), "{query}: {names:?}"),
            _ => assert_eq!(names, found, "{query}"),
        }
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn errors_of_a_user_form_are_shown_beside_their_fields() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let wrong = [
        ("username", "MANAGER"),
        ("name", "<script>alert(1)</script>"),
        ("email", "nobody"),
        ("password", "short"),
    ];
    let seen = ann.fill("/users/new", "/users/new", &wrong).await;
    assert_eq!(seen.status, 422);
    for text in [
        "is not an e-mail address",
        "A password must have 12 to 1000 characters",
        "A user needs at least one group",
        "&#60;script&#62;alert(1)",
        "value=\"MANAGER\"",
        "aria-invalid=\"true\" aria-describedby=\"password-fault password-hint\"",
    ] {
        seen.says(text);
    }
    assert!(!seen.html.contains("<script>alert"), "foreign text is escaped");
    assert!(!seen.html.contains("\"short\""), "a password is not shown again");
    let taken = [("username", "MANAGER"), ("email", "REGISTERED@example.com"), ("group", "2")];
    let seen = ann.fill("/users/new", "/users/new", &taken).await;
    assert_eq!(seen.status, 422);
    seen.says("Another user already has &#34;MANAGER&#34;.");
    seen.says("Another user already has &#34;REGISTERED@example.com&#34;.");

    let good = [
        ("username", "eve"),
        ("name", "<b>Eve</b>"),
        ("email", "eve@example.com"),
        ("password", "long enough for eve"),
        ("group", "2"),
        ("group", "4"),
    ];
    let seen = ann.fill("/users/new", "/users/new", &good).await;
    assert_eq!(seen.status, 303, "{}", seen.html);
    let user = shop.site.user("eve").await.unwrap();
    assert_eq!(user.groups, ["Registered", "Administrator"]);
    ann.get("/users?search=eve").await.says("&#60;b&#62;Eve");
    let mut eve = Visitor::of(&shop.url(""));
    assert_eq!(eve.sign_in("Eve", "long enough for eve").await.status, 303);

    let seen =
        ann.fill("/groups/new", "/groups/new", &[("title", "manager"), ("parent", "Public")]).await;
    assert_eq!(seen.status, 422);
    seen.says("already");
    ann.fill("/groups/3/delete", "/groups/3/delete", &[]).await;
    ann.get("/groups").await.says("A group with users in it cannot be deleted");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_rule_applies_from_the_next_request_and_the_why_page_names_it() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let page = "/permissions?asset=com_shop.manufacturers";
    let ask = || shop.get("/manufacturers").by(Role::Manager).send();
    ask().await.expect(200);
    let html = ann.get(page).await.html;
    let seen = field(&html, "seen").unwrap();
    let fields = [
        ("asset", "com_shop.manufacturers"),
        ("seen", seen),
        ("store.view-1", "deny"),
        ("store.delete-3", "allow"),
        ("store.edit-3", "nonsense"),
    ];
    assert_eq!(ann.post("/permissions", &fields).await.status, 303);
    ask().await.expect(403);
    ann.get(page).await.says("2 rules for com_shop.manufacturers were changed");
    // The form is outdated; it does not undo the change that it does not contain.
    assert_eq!(ann.post("/permissions", &fields).await.status, 303);
    ann.get(page).await.says("Another user has changed these rules in the meantime");

    let why = "/permissions/why?user=manager&action=store.view&asset=com_shop.manufacturers";
    let answer = ann.get(why).await;
    answer.says("The rule for Public denies store.view on com_shop.manufacturers");
    answer.says("<code>store.view</code> on <code>com_shop.manufacturers</code>");
    // All rules for this user that concern the question, also those that do not decide, and no others.
    assert_eq!(
        rules_in(&answer.html),
        [
            "Manager store.view com_shop Allowed No",
            "Public store.view com_shop.manufacturers Denied Yes",
        ]
    );
    let by_command =
        shop.site.explain("manager", "store.view", "com_shop.manufacturers").await.unwrap();
    assert_eq!(by_command.reason, "deny store.view on com_shop.manufacturers for Public");
    ann.get("/permissions/why?user=superuser&action=store.view&asset=com_shop.config")
        .await
        .says("Super Users has core.admin on root, which allows everything");
    assert_eq!(rules_in(&ann.html), ["Super Users core.admin root Allowed Yes"]);
    ann.get("/permissions/why?user=public&action=core.manage&asset=root")
        .await
        .says("No rule allows it");
    ann.get("/permissions/why?user=nobody&action=core.manage&asset=root")
        .await
        .says("There is no user called");
    for missing in ["action=x&asset=root", "action=core.manage&asset=x"] {
        let path = format!("/permissions/why?user=public&{missing}");
        assert_eq!(ann.get(&path).await.status, 404, "{missing}");
    }
}

/// The rules of an answer to the question why: group, action, part, rule, and whether it decides.
fn rules_in(html: &str) -> Vec<String> {
    let (_, table) = html.split_once("<caption>All rules that apply</caption>").unwrap();
    let (_, rows) = table.split_once("<tbody>").unwrap();
    let (rows, _) = rows.split_once("</tbody>").unwrap();
    let text = |row: &str| {
        let parts = row.split('<').filter_map(|part| Some(part.split_once('>')?.1));
        parts.map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let mut rules: Vec<_> = rows.split("</tr>").map(text).filter(|row| !row.is_empty()).collect();
    rules.sort();
    rules
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_group_is_renamed_to_a_title_that_no_other_has() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let group = shop.site.add_group("Tills", "Public").await.unwrap();
    let page = format!("/groups/{group}");
    let seen = ann.fill(&page, &page, &[("title", "MANAGER")]).await;
    assert_eq!(seen.status, 422);
    seen.says("MANAGER");
    assert_eq!(ann.fill(&page, &page, &[("title", "Desks")]).await.status, 303);
    let titles: Vec<_> =
        shop.site.groups().await.unwrap().into_iter().map(|group| group.title).collect();
    assert!(
        titles.contains(&"Desks".to_owned()) && !titles.contains(&"Tills".to_owned()),
        "{titles:?}"
    );
}

/// What the form of a user or a group has not seen is not taken back by saving it.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_form_from_before_a_change_is_shown_again_before_it_replaces_the_change() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let mut bob = Visitor::signed_in(&shop, "superuser").await;
    for (page, changed, other) in [("/users/2", "name", "email"), ("/groups/2", "title", "title")] {
        ann.get(page).await;
        let before = Filled::on(&ann).with(other, "new@example.com");
        bob.get(page).await;
        let sent = Filled::on(&bob).with(changed, "Bob was here").send(&mut bob).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        let seen = before.send(&mut ann).await;
        assert_eq!(seen.status, 422, "{}", seen.html);
        seen.says("omebody has changed this");
        assert_eq!(Filled::on(&ann).value(other), "new@example.com");
        bob.get(page).await;
        assert_eq!(Filled::on(&bob).value(changed), "Bob was here");
        let again = Filled::on(&ann).send(&mut ann).await;
        assert_eq!(again.status, 303, "{}", again.html);
        bob.get(page).await;
        assert_eq!(Filled::on(&bob).value(other), "new@example.com");
    }
}
