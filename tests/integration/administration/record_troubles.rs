//! Pages and forms about records of an extension that does not answer as it should: each has a page with what to do,
//! nothing is claimed that is not known, what was entered stays, and the host goes on.

use crate::support::filled::Filled;
use crate::support::visitor::{Seen, Visitor};

/// A third of it is the time for an answer, and half of it that for a change.
const TIME: (&str, &str) = ("HOST_REQUEST_TIMEOUT", "5");

const ONCE: &str = "Send the form again: it is done once at most.";
const MAYBE_TWICE: &str = "Find out before you send the form again: it might be done twice.";

fn page(of: &str) -> String {
    format!("/records/troubled/{of}")
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_an_extension_answers_there_is_a_page_with_what_to_do() {
    let (_place, served, mut ann) = Visitor::of_fixture("troubled", &[TIME]).await;
    let by_log = "The operator can find the cause by the request id.";
    for (way, status, sentence) in [
        ("denied", 403, "You lack the permission write."),
        ("locked", 403, "An administrator can find out which one, on the page Permissions."),
        ("gone", 404, "Go back to its list, or search for it."),
        ("missing", 404, "Go back to its list, or search for it."),
        ("failing", 502, by_log),
        ("garbled", 502, by_log),
        ("panicking", 502, by_log),
        ("busy", 503, "Try again in a few seconds."),
        ("limited", 503, "Try again in a few seconds."),
        ("slow", 504, "Try again, with a filter if the list is long."),
    ] {
        for of in [way.to_owned(), format!("copies/{way}")] {
            let seen = ann.get(&page(&of)).await;
            assert_eq!(seen.status, status, "{of}: {}", seen.html);
            seen.says(sentence);
            seen.says("Request id");
            let retry = seen.headers.get("retry-after").map(|of| of.to_str().unwrap());
            assert_eq!(retry, (status == 503).then_some("5"), "{of}");
            assert_eq!(ann.get(&page("notes")).await.status, 200, "the host goes on after {of}");
        }
    }
    let seen = ann.get(&page("empty")).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    seen.says("There is nothing here yet.");
    served.is_alive().await;
}

/// Fails the test unless the page of a form states this about a change, and no other one that it was made.
#[track_caller]
fn is_not_done(ann: &Visitor, seen: &Seen, status: u16, sentence: &str) {
    assert_eq!(seen.status, status, "{}", seen.html);
    seen.says(sentence);
    for done in ["was added", "was saved", "was deleted", ": done."] {
        assert!(!seen.html.contains(done), "{done}: {}", seen.html);
    }
    assert!(!ann.cookies.contains_key("administration-notice"), "{:?}", ann.cookies);
    let knows_better = sentence == ONCE || sentence == MAYBE_TWICE;
    assert_eq!(seen.html.contains("Nothing was changed"), !knows_better, "{}", seen.html);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_entered_stays_when_a_change_is_not_answered_and_nothing_is_claimed() {
    let (_place, served, mut ann) = Visitor::of_fixture("troubled", &[TIME]).await;
    let too_much = "Nothing was changed: the extension has too much to do.";
    for (way, status, once, again) in [
        ("denied", 422, "You lack the permission write.", "You lack the permission write."),
        ("gone", 422, "answered with the status 410", "answered with the status 410"),
        ("missing", 422, "answered with the status 404", "answered with the status 404"),
        ("failing", 502, ONCE, MAYBE_TWICE),
        ("panicking", 502, ONCE, MAYBE_TWICE),
        ("busy", 503, too_much, too_much),
        ("limited", 503, too_much, too_much),
        ("slow", 504, ONCE, MAYBE_TWICE),
    ] {
        for (form, field, sentence) in [
            ("notes/new".to_owned(), "/text", once),
            (format!("notes/{way}/edit"), "/text", again),
            (format!("notes/{way}/do/stamp"), "/colour", again),
            (format!("notes/{way}/delete"), "", once),
        ] {
            assert_eq!(ann.get(&page(&form)).await.status, 200, "{form}");
            let mut sent = Filled::on(&ann);
            if form.ends_with("new") {
                sent = sent.with("/title", way);
            }
            if !field.is_empty() {
                sent = sent.with(field, "What I have <i>entered</i>.");
            }
            let seen = sent.send(&mut ann).await;
            is_not_done(&ann, &seen, status, sentence);
            let again = Filled::on(&ann);
            assert_eq!(again.to, sent.to);
            for name in sent.names().into_iter().filter(|name| *name != "csrf_token") {
                assert_eq!(again.value(name), sent.value(name), "{form}: {name}");
            }
        }
    }
    // Where nothing is wrong, the same forms do something.
    ann.get(&page("notes/new")).await;
    let fine = Filled::on(&ann).with("/title", "fine").send(&mut ann).await;
    assert_eq!(fine.status, 303, "{}", fine.html);
    served.is_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_refers_to_what_is_not_answered_takes_a_key() {
    let (_place, _served, mut ann) = Visitor::of_fixture("troubled", &[TIME]).await;
    let form = page("notes/fine/do/send");
    assert_eq!(ann.get(&form).await.status, 200, "{}", ann.html);
    let seen = Filled::on(&ann).with("/to", "a name").send(&mut ann).await;
    assert_eq!(seen.status, 422, "{}", seen.html);
    seen.says("The slow cannot be searched now. Enter a key.");
    let again = Filled::on(&ann);
    assert_eq!(again.value("/to"), "a name");
    let seen = again.with("/to", "7").send(&mut ann).await;
    assert_eq!(seen.status, 303, "{}", seen.html);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_names_the_types_that_were_not_searched_to_the_end() {
    let (_place, served, mut ann) = Visitor::of_fixture("troubled", &[TIME]).await;
    for way in ["slow", "failing", "garbled", "panicking", "busy", "denied"] {
        let seen = ann.get(&format!("/search?q={way}")).await;
        assert_eq!(seen.status, 200, "{way}: {}", seen.html);
        seen.says("Not searched to the end: Copies, Notes. Search again, or open the list.");
    }
    ann.get("/search?q=empty").await.says("Nothing was found.");
    served.is_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_takes_too_long_as_a_whole_has_a_page_in_its_place() {
    let (_place, served, mut ann) = Visitor::of_fixture("troubled", &[TIME]).await;
    let route = "/api/troubled/slow.list";
    assert_eq!(ann.get(route).await.status, 200, "{}", ann.html);
    let seen = ann.post(route, &[]).await;
    assert!(seen.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    assert!(seen.headers.contains_key("content-security-policy"));
    // The time for the page and that for the answer on it end together: whichever is noticed first.
    match seen.status {
        504 => {
            seen.says("it may have been done: find out before you send it again");
            seen.says("Request id");
        }
        status => {
            assert_eq!(status, 200, "{}", seen.html);
            seen.says("504 Gateway Timeout");
        }
    }
    served.is_alive().await;
}
