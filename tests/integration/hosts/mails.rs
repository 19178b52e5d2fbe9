//! Mails that an extension sends through the host to a mail server that accepts them, refuses them,
//! hangs, or is down.

use serde_json::{Value, json};

use crate::support::certificate::Pair;
use crate::support::harness::Answer;
use crate::support::process::{Place, Served, is_empty};
use crate::support::smtp::{Security, Sink};

/// The fixture, which sends mails on request, in a host with this mail server.
struct Post {
    place: Place,
    served: Served,
    token: String,
    sink: Sink,
}

impl Post {
    async fn open() -> Post {
        let sink = Sink::start().await;
        let url = sink.url();
        Post::with(sink, &url).await
    }

    async fn with(sink: Sink, url: &str) -> Post {
        Post::trusting(&Pair::new(), sink, url).await
    }

    /// The same on a machine that trusts only this certificate.
    async fn trusting(pair: &Pair, sink: Sink, url: &str) -> Post {
        let place = Place::of_the_fixture();
        let token = place.user("ann", "Manager").await;
        let environment = [
            ("HOST_SMTP_URL", url),
            ("HOST_SMTP_TIMEOUT", "1"),
            ("HOST_MAIL_FROM", "The shop <shop@example.com>"),
        ];
        let served = place.serve_trusting(pair, &environment).await;
        Post { place, served, token, sink }
    }

    /// Makes the extension send a mail, and returns the result: `sent`, `refused` for a permanent
    /// failure, `failed` for a temporary one.
    async fn send(&self, mail: Value) -> &'static str {
        let request = self.served.ask("POST", "/api/index.php/v1/misbehaves/mail", &self.token);
        let answer = Answer::to(request.body(mail.to_string())).await;
        match answer.status {
            204 => "sent",
            200 if answer.json()["refused"].is_string() => "refused",
            200 if answer.json().is_string() => "failed",
            other => panic!("{other}: {}", String::from_utf8_lossy(&answer.body)),
        }
    }
}

fn mail(id: &str) -> Value {
    json!({
        "id": id,
        "to": "bob@example.com",
        "to_name": "Bob Example",
        "subject": "Thank you",
        "text": "Your order\nhas been paid.\n",
    })
}

/// A mail with one member changed.
fn mail_with(member: &str, value: &str) -> Value {
    let mut mail = mail("order-7-paid");
    mail[member] = value.into();
    mail
}

#[tokio::test]
async fn a_mail_reaches_the_server_once_and_complete() {
    let post = Post::open().await;
    let text =
        "Grüße,\n.\n.one dot\n\nFrom here on: 20 €\n".to_owned() + &"long ".repeat(300) + "end";
    let mail = json!({
        "id": "order-7-paid",
        "to": "bob@example.com",
        "to_name": "Bjørn \"Bob\" Łąka, jr.",
        "subject": "Übergabe – 20 € für Łąka, and so on over more than one line of a header",
        "text": text,
    });
    assert_eq!(post.send(mail.clone()).await, "sent");

    let received = &post.sink.wait_for(1).await[0];
    assert_eq!(received.from, "shop@example.com");
    assert_eq!(received.to, ["bob@example.com"]);
    assert_eq!(received.header("from"), "\"The shop\" <shop@example.com>");
    assert_eq!(received.header("message-id"), "<order-7-paid@example.com>");
    assert_eq!(received.header("auto-submitted"), "auto-generated");
    assert_eq!(received.header("mime-version"), "1.0");
    assert!(received.header("content-type").starts_with("text/plain; charset=utf-8"));
    assert!(received.header("date").ends_with(" +0000"), "{}", received.header("date"));
    assert_eq!(received.subject(), mail["subject"]);
    assert_eq!(received.to_name(), mail["to_name"]);
    assert_eq!(received.text(), text);
    assert!(received.source.is_ascii(), "{}", received.source);
    assert!(received.source.lines().all(|line| line.len() <= 998), "{}", received.source);

    assert_eq!(post.sink.mails().len(), 1);
    assert!(is_empty(&post.place.path("data/mail")), "a mail is not also written to a file");
    post.served.stop().await;
}

#[tokio::test]
async fn text_of_an_extension_cannot_add_headers_or_recipients() {
    let post = Post::open().await;
    let injection = "Thank you\r\nBcc: all@example.com\r\n\r\nAnother text";
    for (member, value) in [
        ("subject", injection),
        ("to_name", injection),
        ("subject", "one\nX-Two: two\u{2028}\u{85}\0"),
        ("text", "\r\n.\r\nMAIL FROM:<eve@example.com>\r\n"),
    ] {
        assert_eq!(post.send(mail_with(member, value)).await, "sent", "{member} {value:?}");
    }
    for received in post.sink.wait_for(4).await {
        assert_eq!(received.to, ["bob@example.com"]);
        let mut names = received.header_names();
        names.sort_unstable();
        let expected = [
            "auto-submitted",
            "content-transfer-encoding",
            "content-type",
            "date",
            "from",
            "message-id",
            "mime-version",
            "subject",
            "to",
        ];
        assert_eq!(names, expected, "{}", received.source);
    }
    let mails = post.sink.mails();
    assert_eq!(mails[0].subject(), "Thank you Bcc: all@example.com Another text");
    assert_eq!(mails[0].text(), "Your order\nhas been paid.");
    assert_eq!(mails[1].to_name(), "Thank you Bcc: all@example.com Another text");
    assert_eq!(mails[2].subject(), "one X-Two: two");
    assert!(mails[3].text().contains("MAIL FROM:<eve@example.com>"));

    // Values that no mail can have are refused without asking the server.
    for (member, value) in [
        ("id", ""),
        ("id", "a\r\nBcc: all@example.com"),
        ("id", "../order"),
        ("id", "a@b"),
        ("id", &"x".repeat(129)),
        ("to", ""),
        ("to", "nobody"),
        ("to", "bob@example.com\r\nBcc: all@example.com"),
        ("to", "bob@example.com, eve@example.com"),
        ("to", "bob@example.com> RCPT TO:<eve@example.com"),
    ] {
        assert_eq!(post.send(mail_with(member, value)).await, "refused", "{member} {value:?}");
    }
    assert_eq!(post.sink.mails().len(), 4);
    // The log has why, and no address.
    let line = post.served.log.wait_for("is not a valid address of a mail").await;
    assert!(!line.contains("example.com"), "{line}");
    post.served.stop().await;
}

#[tokio::test]
async fn temporary_and_permanent_refusals_are_different_errors() {
    let post = Post::open().await;
    for (code, expected) in [
        (421, "failed"),
        (450, "failed"),
        (452, "failed"),
        (550, "refused"),
        (552, "refused"),
        (554, "refused"),
        // The mail is valid: the site has to sign in.
        (530, "failed"),
    ] {
        post.sink.refuse(code);
        assert_eq!(post.send(mail("order-7")).await, expected, "{code}");
        post.served.log.wait_for(&code.to_string()).await;
    }
    assert_eq!(post.sink.mails().len(), 0);
    // A refusal of one mail has no effect on the next.
    post.sink.accept();
    assert_eq!(post.send(mail("order-7")).await, "sent");
    assert_eq!(post.sink.wait_for(1).await.len(), 1);
    post.served.stop().await;
}

#[tokio::test]
async fn an_unreachable_server_is_a_temporary_failure() {
    let post = Post::open().await;
    assert_eq!(post.send(mail("order-6")).await, "sent");
    post.sink.stop().await;
    assert_eq!(post.send(mail("order-7")).await, "failed");
    assert_eq!(post.send(mail("order-7")).await, "failed");
    post.sink.restart().await;
    assert_eq!(post.send(mail("order-7")).await, "sent");
    let mails = post.sink.wait_for(2).await;
    let ids: Vec<String> = mails.iter().map(|mail| mail.header("message-id")).collect();
    assert_eq!(ids, ["<order-6@example.com>", "<order-7@example.com>"]);
    post.served.stop().await;
}

#[tokio::test]
async fn a_hanging_server_is_given_up_and_its_connection_is_not_reused() {
    let post = Post::open().await;
    // Once while the connection is established, and once on the persistent one.
    post.sink.hang();
    assert_eq!(post.send(mail("order-6")).await, "failed");
    post.sink.accept();
    assert_eq!(post.send(mail("order-6")).await, "sent");
    post.sink.hang();
    assert_eq!(post.send(mail("order-7")).await, "failed");
    // Late answers to an abandoned mail are ignored.
    post.sink.accept();
    post.sink.refuse(550);
    assert_eq!(post.send(mail("order-8")).await, "refused");
    post.sink.accept();
    assert_eq!(post.send(mail("order-9")).await, "sent");
    let mails = post.sink.wait_for(2).await;
    assert_eq!(mails.last().unwrap().header("message-id"), "<order-9@example.com>");
    post.served.stop().await;
}

#[tokio::test]
async fn a_connection_is_reused_for_the_next_mail() {
    let post = Post::open().await;
    for number in 0..5 {
        assert_eq!(post.send(mail(&format!("order-{number}"))).await, "sent");
    }
    assert_eq!(post.sink.connections(), 1);
    // A connection that the server has closed in the meantime is replaced silently.
    post.sink.restart().await;
    assert_eq!(post.send(mail("order-5")).await, "sent");
    assert_eq!(post.sink.connections(), 2);

    // Many simultaneous mails do not flood the server.
    let ids: Vec<String> = (0..20).map(|number| format!("at-once-{number}")).collect();
    let sending: Vec<_> = ids.iter().map(|id| post.send(mail(id))).collect();
    for sent in futures_util::future::join_all(sending).await {
        assert_eq!(sent, "sent");
    }
    assert_eq!(post.sink.wait_for(26).await.len(), 26);
    assert!(post.sink.connections() <= 6, "{}", post.sink.connections());
    post.served.stop().await;
}

#[tokio::test]
async fn a_non_ascii_address_is_sent_only_to_a_server_that_supports_it() {
    let post = Post::open().await;
    // A domain has an ASCII form, which every server supports.
    assert_eq!(post.send(mail_with("to", "bob@łąka.example")).await, "sent");
    let received = &post.sink.wait_for(1).await[0];
    assert_eq!(received.to, ["bob@xn--ka-ola7v.example"]);
    // The part before it has no ASCII form, and this server does not support it.
    assert_eq!(post.send(mail_with("to", "bjørn@example.com")).await, "refused");
    assert_eq!(post.sink.mails().len(), 1);
    post.served.stop().await;
}

#[tokio::test]
async fn the_host_signs_in_as_the_user_of_the_address() {
    let sink = Sink::start().await;
    // Letters with a meaning in URLs are escaped there.
    let url = sink.url_for("ann", "s3%2Fcr%40t");
    let post = Post::with(sink, &url).await;
    assert_eq!(post.send(mail("order-7")).await, "sent");
    let received = &post.sink.wait_for(1).await[0];
    // The base64 of "\0ann\0s3/cr@t".
    assert_eq!(received.credentials, "AGFubgBzMy9jckB0");
    let log = post.served.log.all().join("\n");
    assert!(!log.contains("s3/cr@t") && !log.contains("AGFubg"), "{log}");
    post.served.stop().await;
}

#[tokio::test]
async fn the_address_decides_how_tls_is_used() {
    let pair = Pair::new();
    for security in [Security::Wrapped(pair.acceptor()), Security::OnDemand(pair.acceptor())] {
        let sink = Sink::start_with(security.clone()).await;
        let url = sink.url();
        let post = Post::trusting(&pair, sink, &url).await;
        for id in ["order-7", "order-8"] {
            assert_eq!(post.send(mail(id)).await, "sent", "{url}");
        }
        assert!(post.sink.wait_for(2).await.iter().all(|received| received.encrypted), "{url}");
        assert_eq!(post.sink.connections(), 1, "{url}");
        post.served.stop().await;

        // A server that cannot prove its identity gets nothing, and its certificate may be
        // corrected.
        let sink = Sink::start_with(security).await;
        let url = sink.url();
        let post = Post::with(sink, &url).await;
        assert_eq!(post.send(mail("order-7")).await, "failed", "{url}");
        assert_eq!(post.sink.mails().len(), 0, "{url}");
        post.served.stop().await;
    }
}

#[tokio::test]
async fn a_mail_that_requires_tls_is_never_sent_in_clear_text() {
    let pair = Pair::new();
    let required = |url: String| format!("{url}?tls=required");
    let opportunistic = |url: String| url.replace("?tls=required", "") + "?tls=opportunistic";

    let sink = Sink::start().await;
    let url = required(sink.url());
    let post = Post::trusting(&pair, sink, &url).await;
    assert_eq!(post.send(mail("order-7")).await, "failed");
    assert_eq!(post.sink.mails().len(), 0);
    post.served.stop().await;

    // A mail without this requirement is encrypted if the server offers it.
    for (security, encrypted) in
        [(Security::None, false), (Security::OnDemand(pair.acceptor()), true)]
    {
        let sink = Sink::start_with(security).await;
        let url = opportunistic(sink.url());
        let post = Post::trusting(&pair, sink, &url).await;
        assert_eq!(post.send(mail("order-7")).await, "sent");
        assert_eq!(post.sink.wait_for(1).await[0].encrypted, encrypted);
        post.served.stop().await;
    }
}
